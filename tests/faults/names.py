#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""names.py FOLDER: a name server on 127.0.0.1 for which every name is 127.0.0.1. It answers after
as many seconds as the file FOLDER/late says."""
import os
import socket
import struct
import sys
import threading

A, TTL_S = 1, 1


def question_end(query):
    at = 12
    while query[at] != 0:
        at += query[at] + 1
    return at + 5  # the empty label, type and class


def answer(query):
    end = question_end(query)
    kind = struct.unpack('!H', query[end - 4:end - 2])[0]
    records = b'' if kind != A else struct.pack('!HHHIH', 0xc00c, A, 1, TTL_S, 4) + bytes([127, 0, 0, 1])
    return (query[:2] + struct.pack('!HHHHH', 0x8180, 1, 1 if records else 0, 0, 0) +
            query[12:end] + records)


def late_s(folder):
    with open(os.path.join(folder, 'late'), encoding='ascii') as file:
        return float(file.read())


def main(folder):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(('127.0.0.1', 53))
    while True:
        query, client = server.recvfrom(1500)
        timer = threading.Timer(late_s(folder), server.sendto, (answer(query), client))
        timer.daemon = True
        timer.start()


main(sys.argv[1])
