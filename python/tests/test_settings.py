import dataclasses
import unittest

import psbench
from psbench.companion import plugin
from psbench.settings import decode, describe


def part(**fields):
    """A hook whose settings are annotations and defaults."""
    body = {"__annotations__": {name: hint for name, (hint, _) in fields.items()}}
    body.update({name: psbench.setting(default, f"what {name} is") for name, (_, default) in fields.items()})
    return type("Some", (psbench.Hook,), {"key": "some", "Settings": dataclasses.dataclass(type("Settings", (), body))})


ALL = part(flag=(bool, True), count=(int, 3), share=(float, 0.5), name=(str, "x"), sizes=(list[int], [1, 2]), table=(dict, {"a": 1}), deep=(list[list[float]], []))


class SettingsTest(unittest.TestCase):
    def test_settings_are_described(self):
        self.assertEqual(describe(ALL), [
            ("flag", "bool", "true", "what flag is"), ("count", "integer", "3", "what count is"), ("share", "number", "0.5", "what share is"),
            ("name", "string", '"x"', "what name is"), ("sizes", "list", "[1, 2]", "what sizes is"), ("table", "object", '{"a": 1}', "what table is"),
            ("deep", "list", "[]", "what deep is")])
        self.assertEqual(describe(psbench.Hook), [])

    def test_settings_are_decoded(self):
        got = decode(ALL, b'{"flag": false, "share": 1, "sizes": [7.0], "deep": [[1], [2.5]], "count": 3e0}')
        self.assertEqual((got.flag, got.count, got.share, got.sizes, got.deep), (False, 3, 1.0, [7], [[1.0], [2.5]]))
        self.assertIsInstance(got.share, float)
        decode(ALL, b"").sizes.append(9)
        self.assertEqual(decode(ALL, b"").sizes, [1, 2])

    def test_values_that_a_setting_cannot_have(self):
        for text, want in (
            ('{"share": "much"}', 'setting share is "much" but must be a number'),
            ('{"share": true}', "setting share is true but must be a number"),
            ('{"share": 1e39}', "setting share is 1e+39 but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size"),
            ('{"share": 1%s}' % ("0" * 400), f"setting share is 1{'0' * 400} but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size"),
            ('{"count": 2.5}', "setting count is 2.5 but must be a whole number that fits in 64 bits"),
            ('{"count": 9223372036854775808}', "setting count is 9223372036854775808 but must be a whole number that fits in 64 bits"),
            ('{"count": true}', "setting count is true but must be a whole number that fits in 64 bits"),
            ('{"flag": 1}', "setting flag is 1 but must be true or false"),
            ('{"sizes": [1, null]}', r"setting sizes[1] is null but must be a whole number that fits in 64 bits"),
            ('{"deep": [[1], ["a"]]}', 'setting deep[1][0] is "a" but must be a number'),
            ('{"table": []}', "setting table is [] but must be an object"),
            ('{"shard": 1}', 'there is no setting "shard" of hook some: it has count, deep, flag, name, share, sizes, table'),
            ("[]", "the settings must be a JSON object, not []"),
        ):
            with self.subTest(text), self.assertRaises(ValueError) as raised:
                decode(ALL, text.encode())
            self.assertEqual(str(raised.exception), want)
        with self.assertRaisesRegex(ValueError, "it has none"):
            decode(psbench.Hook, b'{"a": 1}')

    def test_settings_that_are_declared_wrongly(self):
        bare = dataclasses.make_dataclass("Settings", [("share", float)])
        for declared, want in (
            (part(share=(float, "much")), 'the default of setting share of Some is "much" but must be a number'),
            (part(share=(complex, 1j)), "setting share of Some is a complex: it must be a bool, int, float, str, a list of these or a dict"),
            (type("Some", (psbench.Hook,), {"key": "some", "Settings": bare}), 'setting share of Some has no default: write share: float = psbench.setting'),
        ):
            with self.subTest(want), self.assertRaisesRegex(psbench.DeclarationError, want):
                plugin.check([declared])
