"use client";

import { Plus, X } from "lucide-react";

import { May } from "@/components/may";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";

import type { PairList } from "./schema-fields";

/** Rows of two texts: an item's field and a metadata key, or a name and its value. */
export function PairRows({
  title,
  hint,
  columns: [first, second],
  add,
  pairs,
  onChange,
  isHidden = false,
  children,
}: {
  title: React.ReactNode;
  hint: string | undefined;
  columns: readonly [string, string];
  /** Label of the button that adds a row. */
  add: string;
  pairs: PairList;
  onChange: (pairs: PairList) => void;
  /** The second texts are secrets. */
  isHidden?: boolean;
  /** Problems of the rows. */
  children: React.ReactNode;
}) {
  const change = (at: number, pair: readonly [string, string]) => onChange(pairs.map((old, other) => (other === at ? pair : old)));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">{title}</legend>
      {hint && <p className="text-text-3">{hint}</p>}
      {pairs.map(([key, value], at) => (
        <div key={at} className="flex items-center gap-2">
          <Input
            aria-label={`${first} ${at + 1}`}
            placeholder={first}
            className="min-w-0 flex-1"
            value={key}
            maxLength={200}
            autoComplete="off"
            onChange={(event) => change(at, [event.target.value, value])}
          />
          <span aria-hidden className="text-text-3">
            →
          </span>
          <Input
            aria-label={`${second} ${at + 1}`}
            placeholder={second}
            className="min-w-0 flex-1"
            type={isHidden ? "password" : "text"}
            value={value}
            autoComplete={isHidden ? "new-password" : "off"}
            onChange={(event) => change(at, [key, event.target.value])}
          />
          <May to="update_source">
            <Button
              variant="quiet"
              isIcon
              aria-label={`Remove ${key === "" ? `row ${at + 1}` : key}`}
              onClick={() => onChange(pairs.filter((_, other) => other !== at))}
            >
              <X aria-hidden size={14} />
            </Button>
          </May>
        </div>
      ))}
      <May to="update_source">
        <Button size="small" className="self-start" onClick={() => onChange([...pairs, ["", ""]])}>
          <Plus aria-hidden size={13} /> {add}
        </Button>
      </May>
      {children}
    </fieldset>
  );
}
