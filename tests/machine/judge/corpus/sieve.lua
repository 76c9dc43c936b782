-- For a JIT: hot loops become machine code at run time. LuaJIT is told (-Ohotexit) to make no side traces, which would
-- patch the code that has run; os.exit leaves the code mapped until the end.
local function sieve(n)
  local t, count = {}, 0
  for i = 2, n do t[i] = true end
  for i = 2, n do
    if t[i] then
      count = count + 1
      for j = i * i, n, i do t[j] = false end
    end
  end
  return count
end

local sum = 0
for i = 1, 12 do sum = sum + sieve(20000 + i) end
print(sum)
os.exit(0, false)
