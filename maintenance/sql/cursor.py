"""A statement's tokens, read from left to right.

Statements that sqlglot has no grammar for are read word by word; types, expressions and queries inside them are handed
to the parsers that know them. All errors name the place in the whole text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from maintenance.errors import PaimonError, SqlError
from maintenance.sql.bare_names import with_names
from maintenance.sql.dialects import Flink, PaimonSpark, words_tokenizer
from maintenance.sql.flink_syntax import check_flink_syntax
from maintenance.sql.foreign_syntax import check_foreign_syntax
from maintenance.sql.literals import UnreadableError, with_signs
from maintenance.sql.name_places import found_name
from maintenance.sql.place import error_at
from maintenance.sql.query.case_names import plain
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type

T = TypeVar("T")

_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.RAW_STRING, TokenType.UNICODE_STRING)
_ARGUMENTS = re.compile(r"number of provided arguments \((\d+)\) is greater than .* \((\d+)\)")
_NUMBER = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:[LSYFD]|BD)?", re.ASCII | re.IGNORECASE)
_OPENING, _CLOSING = {"(": ")", "[": "]", "<": ">"}, {")", "]", ">"}
_SPARK_TYPES = {
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "REAL": "FLOAT",
    "TIMESTAMP": "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "BINARY": "BYTES",
}
# Without a length they have the largest one there; Paimon's own texts of types mean 1.
_FLINK_TYPES = {"VARCHAR": "STRING", "VARBINARY": "BYTES"}
_BEHIND_TYPES = ("", ",", ">", ")", "NOT", "NULL")


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its dialect."""

    text: str
    dialect: type[Flink | PaimonSpark]

    def tokens(self, *, words: bool) -> list[Token]:
        """The tokens. `words`: without keywords, each word on its own. Raises: SqlError: a quote is left open."""
        tokenizer: Any = words_tokenizer(self.dialect) if words else self.dialect.Tokenizer
        try:
            tokens: list[Token] = tokenizer(dialect=self.dialect).tokenize(self.text)
            return tokens if words else with_names(with_signs(tokens, self.text), is_flink=self.dialect is Flink)
        except TokenError as error:
            raise self._open_quote(error) from None
        except UnreadableError as error:
            raise self.error_at(error.token, error.problem, error.fix) from None

    def _open_quote(self, error: TokenError) -> SqlError:
        # The cause ends in ``from <line>:<offset>``, the offset being that of the whole text.
        offset = str(error.__cause__ or error).rpartition(":")[2]
        start = int(offset) if offset.isdigit() else 0
        return self.error(min(start, max(len(self.text) - 1, 0)), 1, "a quote or comment is not closed", "Close it.")

    def error(
        self, offset: int, length: int, problem: str, fix: str = "", *, kind: type[PaimonError] = SqlError
    ) -> SqlError:
        """An error at a word. `problem` and `fix`: names in them may have marks."""
        return error_at(self.text, offset, length, plain(problem), plain(fix), kind)

    def error_at(self, token: Token, problem: str, fix: str = "", *, kind: type[PaimonError] = SqlError) -> SqlError:
        """An error at a token."""
        return self.error(token.start, token.end - token.start + 1, problem, fix, kind=kind)


STATEMENT_SETS = (("EXECUTE", "STATEMENT", "SET", "BEGIN"), ("BEGIN", "STATEMENT", "SET"))
"""The words that begin a set of statements, which ends with END."""


def statements_of(source: Source) -> list["Cursor"]:
    """A cursor for each statement of a script; empty ones are left out. A statement set is one statement."""
    full = source.tokens(words=False)
    groups: list[list[Token]] = [[]]
    for token in source.tokens(words=True):
        if token.token_type is TokenType.SEMICOLON and not _is_open(Cursor(source, groups[-1], full)):
            groups.append([])
        else:
            groups[-1].append(token)
    return [Cursor(source, group, full) for group in groups if group]


def _is_open(cursor: "Cursor") -> bool:
    """Whether a statement set has begun and not ended."""
    begun = not cursor.is_spark and any(cursor.peek(*words) for words in STATEMENT_SETS)
    return begun and not cursor.peek("END", ahead=len(cursor.words) - 1)


@dataclass(slots=True)
class Cursor:
    """The tokens of one statement.

    Attributes: `words`: one for each word; `full`: those of the whole text, with keywords; `roles`: what names are of,
        "the name of a table" say, by the offset where they begin, as far as the statement has been read.
    """

    source: Source
    words: Sequence[Token]
    full: Sequence[Token] = field(repr=False)
    index: int = 0
    roles: dict[int, str] = field(default_factory=dict, repr=False)

    @property
    def is_spark(self) -> bool:
        return self.source.dialect is PaimonSpark

    @property
    def ends_script(self) -> bool:
        """Whether this is EXIT or QUIT."""
        return len(self.words) == 1 and self.words[0].text.upper() in ("EXIT", "QUIT")

    # Looking at tokens

    @property
    def token(self) -> Token | None:
        return self.words[self.index] if self.index < len(self.words) else None

    def find(self, kind: str, name: str, *, last: bool = False) -> Token | None:
        """Where a name stands, with those in front of it that it is written with; None if nowhere.

        Where it stands several times, what was read as a name of this kind goes first, then what was read as nothing
        else, which is in expressions.

        Args: `kind`: ``table``, ``column`` and so on, empty if it is not known; `last`: the last of equals, not the
            first.
        """
        return found_name(self.words, self.roles, kind, name, last=last)

    def note(self, node: exp.Expr, role: str) -> None:
        """Remember what a name is of that sqlglot has read. `role`: as of `name`."""
        for part in node.find_all(exp.Identifier):
            if "start" in part.meta:
                self.roles[part.meta["start"]] = role

    def at_end(self) -> bool:
        return self.token is None

    def peek(self, *texts: str, ahead: int = 0) -> bool:
        """Whether these unquoted words or signs come next."""
        following = self.words[self.index + ahead : self.index + ahead + len(texts)]
        return len(following) == len(texts) and all(
            token.token_type not in _QUOTED and token.text.upper() == text
            for token, text in zip(following, texts, strict=True)
        )

    def take(self, *texts: str) -> bool:
        """Step over these words if they come next."""
        if not self.peek(*texts):
            return False
        self.index += len(texts)
        return True

    def take_one_of(self, *texts: str) -> str | None:
        """Step over one of these words."""
        return next((text for text in texts if self.take(text)), None)

    def expect(self, *texts: str) -> None:
        for text in texts:
            if not self.take(text):
                raise self.unexpected(text)

    def end(self) -> None:
        """Raises: SqlError: something follows."""
        if not self.at_end():
            raise self.unexpected("the end of the statement")

    # Errors

    def unexpected(self, *expected: str) -> SqlError:
        token = self.token
        alternatives = " or ".join(expected)
        if token is None:
            last = self.words[-1]
            return self.source.error(last.end + 1, 1, f"the statement ends where {alternatives} is expected")
        return self.error(f"'{token.text}' found where {alternatives} is expected", token=token)

    def error(
        self, problem: str, fix: str = "", *, token: Token | None = None, kind: type[PaimonError] = SqlError
    ) -> SqlError:
        """An error at a token; None = the one before the cursor. `kind`: a class of the engine that it has, too."""
        token = token or self.words[max(self.index - 1, 0)]
        return self.source.error_at(token, problem, fix, kind=kind)

    def place(self, node: exp.Expr) -> Token | None:
        """The first token of a node that sqlglot has read; None: nowhere."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return None if not starts else next((word for word in self.words if word.start == min(starts)), None)

    # Parts of statements

    def name(self, expected: str = "a name") -> str:
        """A name, in backticks or plain."""
        token = self.token
        if token is None or not self._is_name(token):
            raise self.unexpected(expected)
        self.index += 1
        self.roles[token.start] = expected
        return token.text

    @staticmethod
    def _is_name(token: Token) -> bool:
        if token.token_type is TokenType.IDENTIFIER:
            return True
        return token.token_type not in _QUOTED and (token.text[:1].isalnum() or token.text[:1] in "_$")

    def path(self, expected: str = "a name") -> tuple[str, ...]:
        """Names joined by dots."""
        names = [self.name(expected)]
        while self.take("."):
            names.append(self.name(expected))
        return tuple(names)

    def names(self, expected: str = "the name of a column") -> tuple[str, ...]:
        """Names between brackets."""
        return self.listed(lambda: self.name(expected))

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Items between brackets, one or more. `item`: reads one."""
        self.expect("(")
        items = [item()]
        while self.take(","):
            items.append(item())
        self.expect(")")
        return tuple(items)

    def string(self, expected: str = "a text in quotes") -> str:
        token = self.token
        if token is None or token.token_type is not TokenType.STRING:
            raise self.unexpected(expected)
        self.index += 1
        return token.text

    def comment(self) -> str | None:
        """``COMMENT 'text'``, if it comes next."""
        return self.string() if self.take("COMMENT") else None

    def if_exists(self) -> bool:
        return self.take("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        return self.take("IF", "NOT", "EXISTS")

    def options(self) -> dict[str, str]:
        """``('key' = 'value', …)``; a comma may follow the last one. Spark's keys need no quotes."""
        self.expect("(")
        options: dict[str, str] = {}
        while not self.take(")"):
            key = self.option_key()
            self.take("=")
            options[key] = self.option_value()
            if not self.take(","):
                self.expect(")")
                break
        return options

    def option_key(self) -> str:
        token = self.token
        if token is not None and token.token_type is TokenType.STRING:
            self.roles[token.start] = "an option in quotes"
            return self.string()
        parts = [self.name("an option in quotes")]
        while self.peek(".") or self.peek("-"):
            self.index += 1
            sign = self.words[self.index - 1].text
            parts.append(sign + self.name())
        return "".join(parts)

    def option_value(self) -> str:
        token = self.token
        if token is not None and token.token_type is TokenType.STRING:
            return self.string("a value in quotes")
        sign = "-" if self.take("-") else ""
        return sign + self.name("a value in quotes")

    def number(self) -> str | None:
        """A number with its sign, if one comes next; what a letter says of its type is passed over."""
        start = self.index
        sign = "-" if self.take("-") else ""
        token = self.token
        found = None if token is None or token.token_type in _QUOTED else _NUMBER.fullmatch(token.text)
        if found is None:
            self.index = start
            return None
        self.index += 1
        return sign + found[1]

    def option_keys(self) -> tuple[str, ...]:
        """Option keys between brackets."""
        return self.listed(self.option_key)

    def data_type(self) -> DataType:
        """A data type; what it says of null is left to the column."""
        start = self.index
        self.name("a data type")
        self.take("PRECISION")
        for opening, closing in _OPENING.items():
            if self.peek(opening):
                self._skip_brackets(opening, closing)
        if self.take("WITH") or self.take("WITHOUT"):
            self.take("LOCAL")
            self.expect("TIME", "ZONE")
        try:
            return parse_data_type(self._type_text(self.words[start : self.index]))
        except PaimonError as error:
            raise self.error(error.found, error.fix, token=self.words[start]) from None

    def _skip_brackets(self, opening: str, closing: str) -> None:
        depth = 0
        while not self.at_end():
            depth += self.peek(opening) - self.peek(closing)
            self.index += 1
            if depth == 0:
                return
        raise self.unexpected(closing)

    def _type_text(self, tokens: Sequence[Token]) -> str:
        texts: list[str] = []
        brackets: list[str] = []  # closing ones, as written with <>: Flink's ROW has either kind
        for number, token in enumerate(tokens):
            following = tokens[number + 1].text if number + 1 < len(tokens) else ""
            text = token.text
            if _is_sign(token, "("):
                is_row = number > 0 and tokens[number - 1].text.upper() == "ROW"
                brackets.append(">" if is_row else ")")
                text = "<" if is_row else "("
            elif _is_sign(token, ")") and brackets:
                text = brackets.pop()
            elif token.token_type is TokenType.IDENTIFIER:
                text = "`" + text.replace("`", "``") + "`"
            elif token.token_type is TokenType.STRING:
                text = "'" + text.replace("'", "''") + "'"
            elif self.is_spark and following != ":":
                text = _SPARK_TYPES.get(text.upper(), text)
            elif not self.is_spark and (
                following.upper() in _BEHIND_TYPES or tokens[number + 1].token_type is TokenType.STRING
            ):
                text = _FLINK_TYPES.get(text.upper(), text)
            texts.append(text)
        return " ".join(texts)

    # What sqlglot parses

    def span(self, *until: str) -> tuple[int, int]:
        """Step to one of these words, outside brackets, or to the end. Returns: the offsets stepped over."""
        start, depth = self.index, 0
        while not self.at_end() and (depth or not any(self.peek(text) for text in until)):
            token = self.words[self.index]
            if token.token_type not in _QUOTED:
                depth += (token.text in "([") - (token.text in ")]")
                if depth < 0:
                    break
            self.index += 1
        if start == self.index:
            raise self.unexpected("an expression")
        return self.words[start].start, self.words[self.index - 1].end

    def text(self, span: tuple[int, int]) -> str:
        return self.source.text[span[0] : span[1] + 1]

    def stored_text(self, span: tuple[int, int], tree: exp.Expr) -> str:
        """An expression as Flink keeps it in a schema: as it is written, with each name of a column in quotes."""
        text = self.text(span)
        names = {name.meta["start"]: name for name in tree.find_all(exp.Identifier) if "start" in name.meta}
        for start, name in sorted(names.items(), reverse=True):
            if isinstance(name.parent, exp.Column | exp.Dot) and not name.quoted:
                at = start - span[0]
                text = f"{text[:at]}`{name.this}`{text[at + len(name.this) :]}"
        return text

    def expression(self, *until: str) -> exp.Expr:
        """An expression up to one of these words."""
        return self.parsed(self.span(*until), exp.Condition)

    def query(self, shared: tuple[int, int] | None = None) -> exp.Expr:
        """A query up to the end of the statement. `shared`: where its WITH stands if that is elsewhere."""
        return self._whole_table() if self.take("TABLE") else self.parsed(self.span(), shared=shared)

    def _whole_table(self) -> exp.Expr:
        """The query that ``TABLE t`` means: all of it."""
        names = self.path("the name of a table")
        if len(names) > 3:
            raise self.error(f"'{'.'.join(names)}' is not the name of a table", "Write catalog.database.table.")
        return exp.select("*").from_(table_node(names))

    def parsed(self, span: tuple[int, int], into: Any = None, shared: tuple[int, int] | None = None) -> exp.Expr:
        """What sqlglot makes of a part of the text. `shared`: another part that belongs before it. Raises: SqlError."""
        parts = [span] if shared is None else [shared, span]
        tokens = [token for start, end in parts for token in self.full if start <= token.start and token.end <= end]
        parser: Any = self.source.dialect.Parser(dialect=self.source.dialect)
        try:
            nodes = (
                parser.parse_into(into, tokens, self.source.text) if into else parser.parse(tokens, self.source.text)
            )
            for tree in filter(None, nodes):
                check_foreign_syntax(tokens, tree, "Spark" if self.is_spark else "Flink")
                if not self.is_spark:
                    check_flink_syntax(tokens, tree)
        except ParseError as error:
            raise self._unparsable(error, span) from None
        except UnreadableError as error:
            raise self.source.error_at(error.token, error.problem, error.fix) from None
        except RecursionError:
            raise self.source.error(span[0], 1, "the expression is nested too deeply", "Use fewer levels.") from None
        if len(nodes) != 1 or nodes[0] is None:
            raise self.source.error(span[0], 1, "there is more than one statement")
        node: exp.Expr = nodes[0]
        return node

    def _unparsable(self, error: ParseError, span: tuple[int, int]) -> SqlError:
        """What sqlglot could not read, in our words."""
        first = error.errors[0] if error.errors else {}
        line, column, word = first.get("line"), first.get("col"), first.get("highlight") or ""
        offset = span[0]
        if line and column:
            starts = [0, *(i + 1 for i, c in enumerate(self.source.text) if c == "\n")]
            offset = starts[min(line, len(starts)) - 1] + column - 1 - max(len(word) - 1, 0)
        here = next((n for n, token in enumerate(self.words) if token.start <= offset <= token.end), None)
        return self._unread(str(first.get("description") or ""), word, max(offset, 0), here)

    def _unread(self, description: str, word: str, offset: int, here: int | None) -> SqlError:
        """`here`: the number of the word that the fault is at."""
        counts = _ARGUMENTS.search(description)
        if counts is not None:
            name = self._function_before(here)
            problem = (
                f"{name.text.upper() if name else 'the function'} gets {counts[1]} arguments and takes {counts[2]}"
            )
            return self.error(problem, "Leave the others out.", token=name or self.words[here or 0])
        if "Required" in description and here is not None:
            return self.error(f"something is missing at '{self.words[here].text}'", "Write it.", token=self.words[here])
        expected = re.match(r"Expecting (\S+)", description)
        problem = f"'{word}' found where {expected[1]} is expected" if expected else f"'{word}' is not expected here"
        problem = problem if word else "the statement cannot be read"
        return self.source.error(offset, len(word) or 1, problem, "Check the words in front of it.")

    def _function_before(self, here: int | None) -> Token | None:
        """The name in front of the brackets that close at a word."""
        depth = 0
        for number in range(here or 0, 0, -1):
            depth += (self.words[number].text == ")") - (self.words[number].text == "(")
            if depth == 0:
                return self.words[number - 1]
        return None


def _is_sign(token: Token, sign: str) -> bool:
    return token.token_type not in _QUOTED and token.text == sign


def table_node(path: Sequence[str]) -> exp.Table:
    """A table in a query, by a name of up to three parts."""
    parts = [exp.to_identifier(name, quoted=True) for name in path]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
