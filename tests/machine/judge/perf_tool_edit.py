#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Changes the packets of a perf.data file in place, to tell whose an error is.

	perf_tool_edit.py full-ip IN OUT	writes each IP of a FUP in PSB+ in full
	perf_tool_edit.py drop-tnt N IN OUT	makes the Nth TNT packet padding

full-ip gains the bytes that it needs from the CBR of the same PSB+, which says
nothing new. Prints how many packets were changed; status 1 if none was.
"""
import sys

PSB = b"\x02\x82" * 8
PSBEND = b"\x02\x23"
CBR = b"\x02\x03"
# SDM 36.4.2: the second byte of the packets that begin with 02H, and their length
EXTENDED = {0x82: 16, 0x23: 2, 0x03: 4, 0x73: 7, 0x43: 8, 0xa3: 8, 0xf3: 2, 0x83: 2, 0xc8: 7,
            0x62: 2, 0xe2: 2, 0xc2: 10, 0x22: 4, 0xa2: 7, 0x13: 4, 0x53: 11}
IP_BYTES = {0: 0, 1: 2, 2: 4, 3: 6, 4: 6, 6: 8}
IP_PACKETS = (0x0d, 0x11, 0x01, 0x1d)		# TIP, TIP.PGE, TIP.PGD, FUP
FUP = 0x1d


def length(data, pos):
    """Of the packet there; 0 if it is none."""
    first = data[pos]
    if first == 0x02:
        second = data[pos + 1]
        if second & 0x1f == 0x12:		# PTWRITE
            return 2 + (4, 8)[second >> 5 & 1]
        return EXTENDED.get(second, 0)
    if not first & 1:				# PAD, TNT
        return 1
    if first & 3 == 3:				# CYC
        n = 1
        if first & 4:
            while data[pos + n] & 1:
                n += 1
            n += 1
        return n
    if first & 0x1f in IP_PACKETS:
        return 1 + IP_BYTES.get(first >> 5, -1)
    return {0x19: 8, 0x99: 2, 0x59: 2}.get(first, 0)


def full_ip(data):
    changed = 0
    start = data.find(PSB)
    while start >= 0:
        packets = []
        pos = start
        while not packets or packets[-1] != PSBEND:
            n = length(data, pos)
            if not n:
                break
            packets.append(bytes(data[pos:pos + n]))
            pos += n
        else:
            out = b""
            for packet in packets:
                if packet[0] & 0x1f == FUP and packet[0] >> 5 in (1, 2):
                    packet = bytes([3 << 5 | FUP]) + (packet[1:] + bytes(6))[:6]
                    changed += 1
                if packet == PSBEND:
                    out += bytes(pos - start - len(out) - 2)
                if packet[:2] != CBR:
                    out += packet
            if len(out) != pos - start:
                sys.exit(f"no room for a full IP at {start:#x}")
            data[start:pos] = out
        start = data.find(PSB, start + 1)
    return changed


def drop_tnt(data, number):
    pos = data.find(PSB)
    while 0 <= pos < len(data):
        n = length(data, pos)
        if not n:		# the end of a processor's trace
            pos = data.find(PSB, pos)
            continue
        if n == 1 and data[pos] and not data[pos] & 1:
            number -= 1
            if number < 0:
                data[pos] = 0
                return 1
        pos += n
    return 0


def main():
    what, *number, source, target = sys.argv[1:]
    with open(source, "rb") as file:
        data = bytearray(file.read())
    changed = full_ip(data) if what == "full-ip" else drop_tnt(data, int(number[0]))
    with open(target, "wb") as file:
        file.write(data)
    print(changed, "changed")
    return changed == 0


sys.exit(main())
