"use client";

import { useState } from "react";

import { formatCount, formatDay } from "@/lib/format";

import { type Daily, roundUp } from "./daily";

const HEIGHT = 220;
const colourOf = (at: number) => (at < 4 ? `var(--series-${at + 1})` : "var(--text3)");

/** Stacked bars by day; the day that is not over is hatched. The table below says the same in words. */
export function BarChart({ chart, nameOf }: { chart: Daily; nameOf: (id: string) => string }) {
  const [shown, setShown] = useState<number | null>(null);
  const totals = chart.spus.map((day) => day.reduce((sum, spus) => sum + spus, 0));
  const top = roundUp(Math.max(...totals));
  const last = chart.days.length - 1;
  const day = shown ?? last;
  return (
    <figure className="m-0">
      <figcaption className="mb-2 flex min-h-5 flex-wrap gap-x-4 tabular-nums">
        <strong className="font-semibold">{formatDay(chart.days[day] ?? "")}</strong>
        <span>{formatCount(totals[day])} SPUs</span>
        {chart.series.map((series, at) => {
          const spus = chart.spus[day]?.[at] ?? 0;
          return (
            spus > 0 && (
              <span key={series.id} className="inline-flex items-center gap-1.5 text-text-2">
                <span aria-hidden className="size-2 rounded-sm" style={{ background: colourOf(at) }} />
                {nameOf(series.id)} {formatCount(spus)}
              </span>
            )
          );
        })}
      </figcaption>
      <div className="flex gap-2">
        <div
          className="flex w-14 flex-col justify-between text-right text-xs text-text-3 tabular-nums"
          style={{ height: HEIGHT }}
          aria-hidden
        >
          <span>{formatCount(top)}</span>
          <span>{top > 1 ? formatCount(top / 2) : ""}</span>
          <span>0</span>
        </div>
        <div
          className="flex min-w-0 flex-1 items-end gap-px border-b border-line"
          style={{
            height: HEIGHT,
            backgroundImage: "linear-gradient(var(--border) 1px, transparent 1px)",
            backgroundSize: `100% ${HEIGHT / 2}px`,
          }}
          role="img"
          aria-label={`SPUs by day from ${formatDay(chart.days[0] ?? "")} to ${formatDay(chart.days[last] ?? "")}, at most ${formatCount(Math.max(...totals))} in a day`}
          onMouseLeave={() => setShown(null)}
        >
          {chart.days.map((name, at) => (
            <div
              key={name}
              className={`flex h-full flex-1 flex-col justify-end ${shown === at ? "bg-hover" : ""}`}
              onMouseEnter={() => setShown(at)}
            >
              <div
                className="flex flex-col-reverse"
                style={at === last ? { maskImage: "repeating-linear-gradient(135deg, #000 0 3px, rgb(0 0 0 / 45%) 3px 6px)" } : undefined}
              >
                {chart.series.map((series, column) => {
                  const spus = chart.spus[at]?.[column] ?? 0;
                  return (
                    spus > 0 && <div key={series.id} style={{ height: Math.max(1, (spus / top) * HEIGHT), background: colourOf(column) }} />
                  );
                })}
              </div>
            </div>
          ))}
        </div>
      </div>
      <div className="mt-1 ml-16 flex justify-between text-xs text-text-3" aria-hidden>
        <span>{formatDay(chart.days[0] ?? "")}</span>
        <span>{formatDay(chart.days[last] ?? "")}</span>
      </div>
    </figure>
  );
}
