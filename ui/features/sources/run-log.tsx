import { EmptyState } from "@/components/feedback";
import { formatAbsolute } from "@/lib/format";

import type { RunDetail } from "./queries";

/** The log of a run, oldest line first. */
export function RunLog({ run }: { run: RunDetail }) {
  return (
    <section aria-labelledby="run-log" className="border-t border-line p-4">
      <h2 id="run-log" className="mb-2 text-lg font-semibold">
        Log
      </h2>
      {run.log.length === 0 ? (
        <EmptyState title="Nothing in the log yet" />
      ) : (
        <ol className="flex flex-col gap-1">
          {run.log.map((note, at) => (
            <li key={at} className="flex flex-wrap gap-x-3">
              <time dateTime={note.at} className="text-text-3 tabular-nums">
                {formatAbsolute(note.at)}
              </time>
              <span className="min-w-0 break-words">{note.text}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
