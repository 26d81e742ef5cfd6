import { ChevronLeft, ChevronRight } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { formatCount } from "@/lib/format";

const SIZES = [25, 50, 100];

/** Which rows of how many, and the way to the others. */
export function Pager({
  skip,
  shown,
  total,
  page,
  pageCount,
  onPage,
  size,
  onSize,
  note,
  isAtLeast = false,
}: {
  skip: number;
  shown: number;
  total: number;
  page: number;
  pageCount: number;
  onPage: (page: number) => void;
  size?: number;
  onSize?: (size: number) => void;
  note?: string | null;
  isAtLeast?: boolean;
}) {
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-4 py-2 text-text-2">
      <span className="tabular-nums">
        {shown === 0 ? "0" : `${formatCount(skip + 1)}–${formatCount(skip + shown)}`} of {formatCount(total)}
        {isAtLeast && "+"}
      </span>
      {note && <span className="text-text-3 max-md:hidden">{note}</span>}
      <span className="flex-1" />
      {onSize && (
        <label className="flex items-center gap-2 max-md:hidden">
          Rows
          <Select className="w-[72px]" value={size} onChange={(event) => onSize(Number(event.target.value))}>
            {SIZES.map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </Select>
        </label>
      )}
      <Button isIcon onClick={() => onPage(page - 1)} disabled={page <= 1} aria-label="Previous page">
        <ChevronLeft aria-hidden size={16} />
      </Button>
      <span className="tabular-nums">
        Page {formatCount(page)} of {formatCount(pageCount)}
      </span>
      <Button isIcon onClick={() => onPage(page + 1)} disabled={page >= pageCount} aria-label="Next page">
        <ChevronRight aria-hidden size={16} />
      </Button>
    </nav>
  );
}
