"""Do the checkers find what they are there to find? Each is given small trees that are right, and wrong in one way."""
import pathlib
import stat
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "tools")]

import check_layers
import documented_commands
import headers
import hygiene


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Layers(Tree):
    def faults(self, **files):
        """Faults of a tree of these files, room__file_suffix: text."""
        for name, text in files.items():
            room, file = name.split("__")
            stem, suffix = file.rsplit("_", 1)
            self.write(f"src/monet/{room}/{stem}.{suffix}", text)
        return check_layers.check(self.root / "src" / "monet")[0]

    def assertOneFault(self, text, faults):
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(text, faults[0])

    def test_lower_rooms_may_be_included(self):
        self.assertEqual([], self.faults(
            base__id_h="#pragma once\n#include <string>\n",
            graph__graph_h='#pragma once\n#include "monet/base/id.h"\n',
            graph__graph_cpp='#include "monet/graph/graph.h"\n#include <fmt/format.h>\n#include <unistd.h>\n'))

    def test_higher_rooms_may_not(self):
        self.assertOneFault("room 'base' may not include room 'graph'", self.faults(
            base__id_cpp='#include "monet/graph/graph.h"\n', graph__graph_h="#pragma once\n"))

    def test_rooms_of_one_number_may_not(self):
        self.assertOneFault("room 'models' may not include room 'training'", self.faults(
            models__m_cpp='#include "monet/training/t.h"\n', training__t_h="#pragma once\n"))

    def test_lower_but_not_listed_may_not(self):
        self.assertOneFault("room 'interpret' may not include room 'work'", self.faults(
            interpret__i_cpp='#include "monet/work/work.h"\n', work__work_h="#pragma once\n"))

    def test_includes_are_written_in_full(self):
        self.assertOneFault("is not written", self.faults(base__a_cpp='#include "b.h"\n', base__b_h="#pragma once\n"))
        self.assertIn("does not exist", self.faults(base__a_cpp='#include "monet/base/c.h"\n')[0])

    def test_third_party_headers_stay_in_their_room(self):
        self.assertOneFault("only in cli", self.faults(verbs__v_cpp="#include <CLI/CLI.hpp>\n"))
        self.assertIn("unknown third-party", self.faults(verbs__v_cpp="#include <boost/any.hpp>\n")[0])

    def test_headers_include_no_third_party_and_no_system_header(self):
        self.assertOneFault("in a header", self.faults(base__a_h="#pragma once\n#include <fmt/format.h>\n"))
        self.assertOneFault("in a header", self.faults(base__a_h="#pragma once\n#include <unistd.h>\n"))

    def test_a_wrapped_third_party_header_does_not_leave_its_room(self):
        onnx = {"onnx__proto_h": "#pragma once\n#include <onnx/onnx_pb.h>\n",
                "onnx__inner_h": '#pragma once\n#include "monet/onnx/proto.h"\n',
                "onnx__import_h": "#pragma once\n#include <string>\n"}
        self.assertEqual([], self.faults(**onnx, verbs__v_cpp='#include "monet/onnx/import.h"\n'))
        self.assertOneFault("lets a third-party header out",
                            self.faults(**onnx, verbs__v_cpp='#include "monet/onnx/inner.h"\n'))

    def test_headers_have_pragma_once(self):
        self.assertOneFault("no #pragma once", self.faults(base__a_h="#include <string>\n"))

    def test_600_lines_are_enough(self):
        self.assertEqual([], self.faults(base__a_cpp="\n" * 600))
        self.assertOneFault("601 lines", self.faults(base__a_cpp="\n" * 601))

    def test_unknown_rooms_and_nested_folders_are_refused(self):
        self.assertOneFault("room 'attic'", self.faults(attic__a_cpp="\n"))
        self.write("src/monet/base/deep/a.cpp", "\n")
        self.assertTrue(any("not deeper" in f for f in check_layers.check(self.root / "src" / "monet")[0]))

    def test_the_build_links_what_the_table_lists(self):
        self.write("CMakeLists.txt", "monet_room(base)\nmonet_room(numeric USES base)\n")
        self.assertEqual([], self.faults(base__a_cpp="\n"))
        self.write("CMakeLists.txt", "monet_room(base)\nmonet_room(models USES base numeric graph work)\n")
        self.assertOneFault("'models' uses", self.faults())

    def test_no_tree_is_no_success(self):
        self.assertOneFault("no source files", self.faults())


class Hygiene(Tree):
    def setUp(self):
        super().setUp()
        for name in hygiene.REQUIRED:
            self.write(name, "text\n")

    def fault(self, name, text):
        self.write(name, text)
        faults, _ = hygiene.check(self.root)
        return faults[0] if faults else None

    def test_a_clean_tree_passes(self):
        self.assertIsNone(self.fault("src/monet/work/work.cpp", '#include "monet/work/work.h"\n'))

    def test_each_fault_is_found(self):
        cases = {"absolute path": 'open("/ro' 'ot/model.onnx");\n', "unfinished": "// TO" "DO later\n",
                 "tab": "\tint a;\n", "registry": "https://py" "pi.org/simple\n", "blanks": "int a; \n",
                 "carriage": "int a;\r\n", "newline": "int a;"}
        for expected, text in cases.items():
            with self.subTest(expected):
                self.assertIn(expected, self.fault("src/a.cpp", text) or "")

    def test_versions_must_agree(self):
        self.write("CMakeLists.txt", "project(monet VERSION 1.2.3 LANGUAGES CXX)\n")
        self.assertIsNone(self.fault("CITATION.cff", "version: 1.2.3\n"))
        self.assertIn("versions differ", self.fault("CITATION.cff", "version: 1.2.4\n"))

    def test_a_missing_file_is_found(self):
        (self.root / "LICENSE").unlink()
        self.assertEqual((["LICENSE is missing"], len(hygiene.REQUIRED) - 1), hygiene.check(self.root))


class Headers(Tree):
    def test_only_the_first_include_of_a_source_proves_a_header(self):
        self.write("src/monet/base/a.cpp", '// why\n#include "monet/base/a.h"\n\n#include "monet/base/b.h"\n')
        self.assertEqual({"monet/base/a.h"}, headers.proved_by_build(self.root))

    def test_a_header_that_needs_another_is_refused(self):
        self.write("monet/base/a.h", "std::string name();\n")
        self.write("monet/base/b.h", "#include <string>\nstd::string name();\n")
        command = ["c++", "-std=c++20", f"-I{self.root}"]
        self.assertIn("does not compile alone", headers.compile_alone(command, "monet/base/a.h", self.root))
        self.assertEqual("", headers.compile_alone(command, "monet/base/b.h", self.root))


class DocumentedCommands(Tree):
    """Commands are run with a stand-in for monet that prints its arguments, one a line, and fails if told to."""

    def setUp(self):
        super().setUp()
        self.monet = self.write("bin/monet", '#!/bin/sh\n[ "$1" = fail ] && { echo no >&2; exit 2; }\n'
                                             'printf "%s\\n" "$@"\n')
        self.monet.chmod(self.monet.stat().st_mode | stat.S_IXUSR)

    def run_text(self, text):
        return documented_commands.run_document(self.root, self.monet, self.write("README.md", text))

    def assertRuns(self, run, skipped, text):
        self.assertEqual((run, skipped, []), self.run_text(text))

    def assertFault(self, expected, text):
        faults = self.run_text(text)[2]
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(expected, faults[0])

    def test_printed_lines_are_compared(self):
        self.assertRuns(2, 0, "# Title\n```console\n$ monet a b\na\nb\n\n$ monet c\nc\n```\n")
        self.assertFault("document: x", "```console\n$ monet a b\na\nx\n```\n")
        self.assertFault("(nothing more)", "```console\n$ monet a b\na\n```\n")
        self.assertFault("(nothing more)", "```console\n$ monet a\na\nb\n```\n")

    def test_ellipses_stand_for_what_is_left_out(self):
        self.assertRuns(1, 0, "```console\n$ monet a1 b c d\na…\n…\nd\n```\n")
        self.assertRuns(1, 0, "```console\n$ monet a b\na\n…\nb\n```\n")
        self.assertRuns(1, 0, "```console\n$ monet a b b c\n…\nb\nc\n```\n")
        self.assertFault("document: x…", "```console\n$ monet a1 b\nx…\nb\n```\n")

    def test_without_output_the_exit_code_is_checked(self):
        self.assertRuns(1, 0, "```sh\n$ monet a\n```\n")
        self.assertFault("ended with 2, not 0", "```sh\n$ monet fail\n```\n")
        self.assertRuns(1, 0, "```sh\n$ monet fail  # exit 2\nno\n```\n")
        self.assertFault("ended with 0, not 2", "```sh\n$ monet a  # exit 2\n```\n")

    def test_blocks_without_prompt_run_only_monet(self):
        self.assertRuns(2, 0, "```sh\nmake demo\nmonet a\nbuild/release/monet b  # as built\nfalse\n```\n")
        self.assertFault("ended with 2", "```sh\nmonet fail\n```\n")

    def test_marked_commands_make_and_other_languages_are_not_run(self):
        self.assertRuns(0, 2, "```console\n$ monet fail # not run\n$ make demo\nanything\n```\n"
                              "```cpp\nmonet fail\n```\n")

    def test_lines_go_on_after_a_backslash(self):
        self.assertRuns(1, 0, "```console\n$ monet a \\\n    b\na\nb\n```\n")

    def test_commands_of_a_document_share_a_folder(self):
        self.assertRuns(2, 0, "```sh\nmonet a > x.txt\n```\n```console\n$ cat x.txt\na\n```\n")

    def test_a_document_without_commands_is_no_success(self):
        path = self.write("README.md", "nothing\n")
        self.assertEqual(1, documented_commands.main(self.root, self.monet, path))


if __name__ == "__main__":
    unittest.main()
