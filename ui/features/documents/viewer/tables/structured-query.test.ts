import { describe, expect, it } from "vitest";

import { EMPTY, readQuery, resultNames, schemaFor, type StructuredQuery, toSql } from "./structured-query";

const COLUMNS = [
  { name: "Region", type: "text" },
  { name: 'Unit "net"', type: "decimal" },
  { name: "Day", type: "date" },
  { name: "Paid", type: "boolean" },
] as const;
const columns = [...COLUMNS];
const sqlOf = (query: Partial<StructuredQuery>) => toSql({ ...EMPTY, ...query }, columns);
type Filter = StructuredQuery["filters"][number];
const filter = (column: string, comparison: Filter["comparison"], value: string): Filter => ({ column, comparison, value });
const where = (...filters: Filter[]) => sqlOf({ filters }).split("\nWHERE ")[1];

describe("a query of the form", () => {
  it("lists rows, with the columns chosen", () => {
    expect(sqlOf({})).toBe("SELECT *\nFROM rows");
    expect(sqlOf({ columns: ['Unit "net"'], order: 'Unit "net"', direction: "ascending" })).toBe(
      'SELECT "Unit ""net"""\nFROM rows\nORDER BY "Unit ""net""" ASC NULLS LAST',
    );
  });

  it("quotes what was typed, and writes values of each type", () => {
    expect(where(filter("Region", "=", "O'Hara; DROP"))).toBe("\"Region\" = 'O''Hara; DROP'");
    expect(where(filter("Region", "contains", "50%"))).toBe("contains(lower(CAST(\"Region\" AS VARCHAR)), lower('50%'))");
    expect(where(filter('Unit "net"', ">", "1,234.5"))).toBe('"Unit ""net""" > 1234.5');
    expect(where(filter("Day", "<=", "2026-01-31"), filter("Paid", "=", "Yes"))).toBe('"Day" <= DATE \'2026-01-31\'\n  AND "Paid" = true');
    expect(where(filter("Region", "empty", "x"))).toBe('"Region" IS NULL');
  });

  it("counts groups without a calculation, and names each result once", () => {
    const groups = [{ column: "Region" }, { column: "Region" }];
    expect(sqlOf({ groups })).toBe('SELECT "Region", count(*) AS "number of rows"\nFROM rows\nGROUP BY "Region"');
    const twice = { calculation: "sum", column: 'Unit "net"' } as const;
    expect(resultNames({ ...EMPTY, groups, calculations: [twice, twice] }, columns)).toEqual(["Region", 'sum of Unit "net"']);
    expect(sqlOf({ groups, order: "gone" })).not.toContain("ORDER");
  });

  it.each([
    [filter("Region", "=", " "), "Enter a value."],
    [filter('Unit "net"', "=", "1; DROP"), "Enter a number, such as 1234.5."],
    [filter("Day", "=", "31.1.2026"), "Enter a date, such as 2026-01-31."],
    [filter("Paid", "=", "maybe"), "Enter yes or no."],
  ])("tells which value its column cannot hold: %o", (wrong, problem) => {
    const checked = schemaFor(columns).safeParse({ ...EMPTY, filters: [wrong] });
    expect(checked.error?.issues).toMatchObject([{ path: ["filters", 0, "value"], message: problem }]);
  });

  it("sums columns of numbers only", () => {
    const checked = schemaFor(columns).safeParse({ ...EMPTY, calculations: [{ calculation: "sum", column: "Region" }] });
    expect(checked.error?.issues).toMatchObject([{ path: ["calculations", 0, "column"] }]);
  });

  it("is read from an address only if it is one about this table", () => {
    const query = { ...EMPTY, groups: [{ column: "Region" }] };
    expect(readQuery(JSON.stringify(query), columns)).toEqual(query);
    for (const text of ["", "{", "null", "[]", '{"columns": 1}', JSON.stringify({ ...query, groups: [{ column: "Gone" }] })]) {
      expect(readQuery(text, columns)).toBeNull();
    }
  });
});
