import type { Tag } from "@/api/queries";

/** A tag: its colour is a dot, never behind the text. */
export function TagChip({ tag }: { tag: Pick<Tag, "name" | "color"> }) {
  return (
    <span className="chip" title={tag.name}>
      <span aria-hidden className="size-2 shrink-0 rounded-full" style={{ background: tag.color }} />
      <span className="truncate">{tag.name}</span>
    </span>
  );
}

/** As many chips as fit in a line, then how many more. */
export function TagChips({
  tagIds,
  index,
  most,
  narrowMost = most,
}: {
  tagIds: readonly string[];
  index: ReadonlyMap<string, Tag> | undefined;
  most: number;
  narrowMost?: number;
}) {
  const known = tagIds.map((id) => index?.get(id) ?? { name: index ? "unknown tag" : "…", color: "transparent", tag_id: id });
  const hidden = known.slice(most);
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-1 align-middle">
      {known.slice(0, most).map((tag, at) => (
        <span key={tag.tag_id} className={`inline-flex max-w-[124px] min-w-0 ${at >= narrowMost ? "max-lg:hidden" : ""}`}>
          <TagChip tag={tag} />
        </span>
      ))}
      {known.length > narrowMost && narrowMost < most && (
        <span className="text-xs text-text-3 lg:hidden">+{known.length - narrowMost}</span>
      )}
      {hidden.length > 0 && (
        <span
          className={`shrink-0 text-xs text-text-3 ${narrowMost < most ? "max-lg:hidden" : ""}`}
          title={hidden.map((tag) => tag.name).join(", ")}
        >
          +{hidden.length}
        </span>
      )}
    </span>
  );
}
