/** A table of rows: `head` is its row of column heads, `children` are its rows. */
export function DataTable({
  caption,
  head,
  isCards = false,
  className = "",
  style,
  bodyRef,
  children,
}: {
  /** For screen readers; the page shows its own heading. */
  caption: React.ReactNode;
  head: React.ReactNode;
  /** Rows become cards where the table is narrow; cells carry `data-label`. */
  isCards?: boolean;
  className?: string;
  style?: React.CSSProperties;
  bodyRef?: React.Ref<HTMLTableSectionElement>;
  children: React.ReactNode;
}) {
  return (
    <table className={["table", isCards && "table-cards", className].filter(Boolean).join(" ")} style={style}>
      {caption && <caption className="sr-only">{caption}</caption>}
      <thead>
        <tr>{head}</tr>
      </thead>
      <tbody ref={bodyRef}>{children}</tbody>
    </table>
  );
}
