import type { DocumentDetail } from "@/api/queries";
import { Banner } from "@/components/state";
import { formatCount, plural } from "@/lib/format";

/** The document's warnings, one item each, and what its knowledge bases leave out. */
export function Warnings({ document }: { document: DocumentDetail }) {
  const leftOut = leftOutWords(document);
  const items = leftOut === null ? document.warnings : [...document.warnings, leftOut];
  if (items.length === 0) return null;
  return (
    <div className="max-h-[30vh] overflow-y-auto border-b border-line px-4 py-2">
      <Banner tone="warning">
        {items.length === 1 ? (
          items[0]
        ) : (
          <ul aria-label="Warnings" className="flex list-disc flex-col gap-1 pl-4">
            {items.map((item) => (
              <li key={item}>{item}</li>
            ))}
          </ul>
        )}
      </Banner>
    </div>
  );
}

/** Bases are counted, since one that is behind may still hold the words. */
export function leftOutWords({ knowledge_bases: bases }: DocumentDetail): string | null {
  const skipping = bases.filter((base) => base.skipped_word_count > 0);
  const words = Math.max(0, ...skipping.map((base) => base.skipped_word_count));
  if (words === 0) return null;
  const which = skipping.length < bases.length ? `${formatCount(skipping.length)} of ${plural(bases.length, "knowledge base")}` : "search";
  return `Your organization's settings leave ${plural(words, "flawed word")} out of ${which}.`;
}
