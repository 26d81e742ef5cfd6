"use client";

import { useEffect, useRef } from "react";

import type { PageBoxes } from "./queries";

type Box = PageBoxes["boxes"][number];

const MARGIN_PERCENT = 0.15;

/** Marks over a page that is drawn: a box for each line, in fractions of the page, so that it goes with every size. */
export function BoxLayer({ boxes }: { boxes: readonly Box[] }) {
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => {
    first.current?.scrollIntoView({ block: "center", inline: "nearest" });
  }, [boxes]);
  return (
    <div className="pointer-events-none absolute inset-0 z-10" data-testid="boxes" aria-hidden>
      {boxes.map((box, at) => (
        <div
          key={at}
          ref={at === 0 ? first : undefined}
          className="absolute rounded-[2px] border border-box bg-mark mix-blend-multiply"
          style={{
            left: `${box.left * 100 - MARGIN_PERCENT}%`,
            top: `${box.top * 100 - MARGIN_PERCENT}%`,
            width: `${box.width * 100 + 2 * MARGIN_PERCENT}%`,
            height: `${box.height * 100 + 2 * MARGIN_PERCENT}%`,
          }}
        />
      ))}
    </div>
  );
}
