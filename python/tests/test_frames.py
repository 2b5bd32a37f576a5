"""The frames that psbench's own tests also read."""

import json
import pathlib
import socket
import unittest

from psbench.companion import frames
from psbench.companion.link import Link, LinkError

VECTORS = json.loads((pathlib.Path(__file__).parents[2] / "internal" / "host" / "protocol" / "testdata" / "frames.json").read_text())
FIELDS = ("op", "flags", "batch", "bucket", "rows", "arg", "arg2")
WORD = (1 << 64) - 1


def link_of(vectors):
    """The number of the link, from the acknowledgement."""
    return next(v["arg"] for v in vectors if v["name"] == "acknowledge") & WORD


class VectorsTest(unittest.TestCase):
    def test_frames_of_the_part_are_sent_so(self):
        sent = [v for v in VECTORS if v["link"] == link_of(VECTORS) ^ WORD]
        self.assertGreater(len(sent), 10)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            link = Link(ours)
            link._number, link._sent = link_of(VECTORS), sent[0]["sequence"]
            for v in sent:
                link.send(*(v[name] for name in FIELDS), payload=v.get("text", "").encode())
                self.assertEqual(theirs.recv(1 << 16).hex(), v["hex"], v["name"])

    def test_frames_of_the_host_are_read_so(self):
        came = [v for v in VECTORS if v["link"] == link_of(VECTORS)]
        self.assertGreater(len(came), 10)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            link = Link(ours)
            link._number, link._received = link_of(VECTORS), came[0]["sequence"]
            for v in came:
                theirs.sendall(bytes.fromhex(v["hex"]))
                header = link.receive()
                self.assertEqual(list(header[2:9]), [v[name] for name in FIELDS], v["name"])

    def test_the_hello_is_taken_and_acknowledged(self):
        hello = next(v for v in VECTORS if v["name"] == "hello")
        for secret, name, want in (
            (hello["secret"], hello["to"], ""), ("00" * 32, hello["to"], "the hello has not the secret of this run"),
            (hello["secret"], "trainer1.hook", "the hello is for the part link of trainer0.hook, this is the part link of trainer1.hook"),
        ):
            ours, theirs = socket.socketpair()
            with ours, theirs, self.subTest(want):
                theirs.sendall(bytes.fromhex(hello["hex"]))
                link = Link(ours)
                self.assertEqual(link.greet(bytes.fromhex(secret), name), not want)
                answer = theirs.recv(1 << 16)
                header = frames.HEADER.unpack(answer[:64])
                self.assertEqual((header[2], header[10:], answer[64:].decode()), (frames.REFUSE if want else frames.ACKNOWLEDGE, (0, 0), want))
                self.assertEqual(header[7] & WORD, link._number)

    def test_a_frame_that_is_not_next_is_refused(self):
        first = next(v for v in VECTORS if v["link"] == link_of(VECTORS))
        for number, received in ((link_of(VECTORS) ^ 1, first["sequence"]), (link_of(VECTORS), first["sequence"] + 1)):
            ours, theirs = socket.socketpair()
            with ours, theirs, self.assertRaises(LinkError):
                link = Link(ours)
                link._number, link._received = number, received
                theirs.sendall(bytes.fromhex(first["hex"]))
                link.receive()
