"""Tables as data.py and olap_bench write them, read as Arrow tables; and sums that tell two results apart.

Sums are the same for every engine, whatever order its rows are in. Of each column: how many NULLs, and the sum of the rest,
int64 with wrap-around for integers and dates, float64 for floats; for strings the wrap-around sum of the 64-bit FNV-1a of
their bytes. And `mix` of each number column that is no key: the float64 sum of weight * value, where the weight is (the sum
over the key columns of the value, or of the string's hash) mod 1009, which ties values to their keys.
"""
import json
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DICTIONARY_LIMIT = 200_000  # strings; a column of more stays plain


def read_table(folder, as_dictionaries):
    schema = json.loads((folder / "schema.json").read_text())
    return pa.table([read_column(folder, schema, column, as_dictionaries) for column in schema["columns"]],
                    [column["name"] for column in schema["columns"]])


def read_column(folder, schema, column, as_dictionaries):
    mask = None if "valid" not in column else np.load(folder / column["valid"]) == 0
    values = pa.array(np.load(folder / column["file"]), mask=mask)
    if column["type"] == "date32":
        return values.cast(pa.date32())
    if column["type"] != "string":
        return values
    words = pa.array((folder / column["dict"]).read_text(encoding="utf-8").split("\n")[:-1], pa.string())
    if as_dictionaries and len(words) <= DICTIONARY_LIMIT:
        return pa.DictionaryArray.from_arrays(values, words)
    return (words if schema["rows"] < 5_000_000 else words.cast(pa.large_string())).take(values)


def read_tables(folder, as_dictionaries):
    return {table.name: read_table(table, as_dictionaries) for table in sorted(pathlib.Path(folder).iterdir()) if table.is_dir()}


def hash_strings(words):
    """64-bit FNV-1a of each."""
    words = words.cast(pa.large_string())
    _, offsets, data = words.buffers()
    offsets = np.frombuffer(offsets, np.int64)[words.offset:words.offset + len(words) + 1]
    data = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    hashes = np.full(len(words), 0xCBF29CE484222325, np.uint64)
    lengths = np.diff(offsets)
    for at in range(int(lengths.max()) if len(lengths) else 0):
        longer = np.nonzero(lengths > at)[0]
        hashes[longer] = (hashes[longer] ^ data[offsets[longer] + at].astype(np.uint64)) * np.uint64(0x100000001B3)
    return hashes


def whole(column):
    """A column as one array of a type that checksum knows."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    kind = array.type
    if pa.types.is_decimal(kind):
        return array.cast(pa.int64() if kind.scale == 0 else pa.float64())
    if pa.types.is_date(kind):
        return array.cast(pa.date32()).cast(pa.int32())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.large_string()).dictionary_encode()
    return array


def checksum(table, keys):
    sums = dict(rows=table.num_rows, cols={}, mix={})
    weight = np.zeros(table.num_rows, np.uint64)
    numbers = {}
    for i, name in enumerate(table.column_names):
        array = whole(table.column(i))
        entry = dict(nulls=array.null_count)
        if pa.types.is_dictionary(array.type):
            hashes = hash_strings(array.dictionary)
            there = array.indices.is_valid().to_numpy(zero_copy_only=False)
            codes = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
            values = np.where(there, hashes[codes] if len(hashes) else np.uint64(0), np.uint64(0))
            entry.update(kind="string", sum=int(values.sum(dtype=np.uint64)))
            if i < keys:
                weight += values
        elif pa.types.is_integer(array.type):
            values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(np.int64)
            entry.update(kind="int", sum=int(values.sum()))
            if i < keys:
                weight += values.view(np.uint64)
            else:
                numbers[name] = values.astype(np.float64)
        else:
            values = pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
            nans = np.isnan(values)
            entry.update(nan=int(nans.sum()), kind="float")
            values = np.where(nans, 0.0, values)
            entry["sum"] = float(values.sum())
            if i < keys:  # a key that comes as a whole float
                weight += values.astype(np.int64).view(np.uint64)
            else:
                numbers[name] = values
        sums["cols"][name] = entry
    weight = (weight % np.uint64(1009)).astype(np.float64)
    sums["mix"] = {name: float((weight * values).sum()) for name, values in numbers.items()}
    return sums


def difference(a, b, tolerance=1e-9):
    """What two checksums say about it, in words; empty where they agree. Columns are compared by position."""
    def close(x, y, scale):
        return x == y or abs(x - y) <= tolerance * max(abs(x), abs(y), scale)

    if a["rows"] != b["rows"]:
        return f"{a['rows']} rows instead of {b['rows']}"
    if len(a["cols"]) != len(b["cols"]):
        return f"{len(a['cols'])} columns instead of {len(b['cols'])}"
    for (name, x), y in zip(a["cols"].items(), b["cols"].values()):
        absent, expected = (e["nulls"] + e.get("nan", 0) for e in (x, y))
        if absent != expected:
            return f"{name}: {absent} NULLs instead of {expected}"
        exact = "float" not in (x["kind"], y["kind"])
        if x["sum"] != y["sum"] and (exact or not close(float(x["sum"]), float(y["sum"]), 1e-3 * a["rows"])):
            return f"{name}: sum {x['sum']} instead of {y['sum']}"
    for (name, x), y in zip(a["mix"].items(), b["mix"].values()):
        if not close(x, y, a["rows"]):
            return f"{name}: its values belong to other keys: {x} instead of {y}"
    return ""
