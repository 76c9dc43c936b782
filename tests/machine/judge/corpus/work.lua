-- For the plain interpreter: strings, closures, errors, coroutines.
local parts = {}
for i = 1, 2000 do parts[#parts + 1] = ("%d:%s"):format(i, string.rep("x", i % 7)) end
local text = table.concat(parts, ",")
local n = 0
for a, b in text:gmatch("(%d+):(x+)") do n = n + #a * #b end
local co = coroutine.wrap(function() for i = 1, 500 do coroutine.yield(i) end end)
for _ = 1, 500 do n = n + co() end
for i = 1, 50 do if not pcall(error, i) then n = n + i end end
print(n)
