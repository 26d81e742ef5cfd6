import { describe, expect, it } from "vitest";

import { cellText, exampleQueries, isNumberOfResult, mayHaveTables, tableTitle } from "./table-words";

const column = (name: string, type: "text" | "integer" | "decimal" | "date" | "boolean") => ({
  name,
  type,
  unit: "",
  value_count: 3,
  unfit_count: 0,
  note: "",
});

describe("examples of queries", () => {
  it("use the columns of the table, and quote their names", () => {
    const examples = exampleQueries([column("Region", "text"), column('Price "net"', "decimal"), column("Day", "date")]);
    expect(examples.map(({ label }) => label)).toEqual([
      "Count the rows",
      'Sum of Price "net"',
      'Price "net" by Region',
      'Largest Price "net"',
      "Latest Day",
    ]);
    expect(examples[2]?.sql).toBe('SELECT "Region", sum("Price ""net""") AS total\nFROM rows\nGROUP BY "Region"\nORDER BY total DESC');
  });

  it("count where nothing can be summed", () => {
    expect(exampleQueries([column("Name", "text")]).map(({ label }) => label)).toEqual(["Count the rows", "Rows by Name"]);
    expect(exampleQueries([])).toHaveLength(1);
  });
});

describe("values and names", () => {
  it("tell numbers of results by the database's types", () => {
    const numbers = ["bigint", "hugeint", "ubigint", "decimal(38,2)", "double", "integer"];
    expect(numbers.filter(isNumberOfResult)).toEqual(numbers);
    expect(["varchar", "interval", "date", "integer[]", "struct(a integer)"].filter(isNumberOfResult)).toEqual([]);
  });

  it("show every value in one line, and nothing as nothing", () => {
    expect([null, "", true, false, 0, "0", [1, 2]].map(cellText)).toEqual([null, null, "yes", "no", "0", "0", "[1,2]"]);
  });

  it("name a table by its title, its sheet or its number", () => {
    expect(tableTitle({ title: "Sales", page_name: "2024", table_id: "d-1" })).toBe("Sales");
    expect(tableTitle({ title: "", page_name: "2024", table_id: "d-1" })).toBe("2024");
    expect(tableTitle({ title: "", page_name: "", table_id: "d-12" })).toBe("Table 12");
  });

  it("know the files whose tables can be queried", () => {
    expect(["text/csv", "text/markdown", "application/pdf"].every(mayHaveTables)).toBe(true);
    expect(["application/json", "text/plain", "image/png"].some(mayHaveTables)).toBe(false);
  });
});
