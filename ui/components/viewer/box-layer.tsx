"use client";

import { useEffect, useRef } from "react";

import type { PageBox } from "./queries";

/** The boxes of a passage over a page of whatever size: they are fractions of it. The first is brought into view. */
export function BoxLayer({ boxes }: { boxes: readonly PageBox[] }) {
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => {
    first.current?.scrollIntoView({ block: "center", inline: "nearest" });
  }, [boxes]);
  return (
    <div className="pointer-events-none absolute inset-0 z-10" aria-hidden data-boxes={boxes.length}>
      {boxes.map((box, index) => (
        <div
          key={`${box.left} ${box.top} ${index}`}
          ref={index === 0 ? first : undefined}
          className="passage-box"
          style={{
            left: `${box.left * 100}%`,
            top: `${box.top * 100}%`,
            width: `${box.width * 100}%`,
            height: `${box.height * 100}%`,
          }}
        />
      ))}
    </div>
  );
}
