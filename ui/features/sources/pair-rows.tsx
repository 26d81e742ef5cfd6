"use client";

import { Plus, X } from "lucide-react";
import { type Control, useController } from "react-hook-form";

import { May } from "@/components/may";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { FieldProblem } from "@/components/ui/form";

import type { Pair, SourceValues } from "./source-values";

/** Rows of two texts: an item's field and a metadata key, or a key and its value. */
export function PairRows({
  control,
  name,
  title,
  hint,
  columns: [first, second],
  add,
}: {
  control: Control<SourceValues>;
  name: "metadata" | "metadata_mapping";
  title: string;
  hint: string;
  columns: readonly [string, string];
  /** The words of the button that adds a row. */
  add: string;
}) {
  const { field } = useController({ control, name });
  const pairs = field.value;
  const change = (at: number, part: Partial<Pair>) =>
    field.onChange(pairs.map((pair, other) => (other === at ? { ...pair, ...part } : pair)));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">{title}</legend>
      <p className="text-text-3">{hint}</p>
      {pairs.map((pair, at) => (
        <div key={at} className="flex items-center gap-2">
          <Input
            aria-label={`${first} ${at + 1}`}
            placeholder={first}
            className="min-w-0 flex-1"
            value={pair.key}
            maxLength={200}
            autoComplete="off"
            onChange={(event) => change(at, { key: event.target.value })}
          />
          <span aria-hidden className="text-text-3">
            →
          </span>
          <Input
            aria-label={`${second} ${at + 1}`}
            placeholder={second}
            className="min-w-0 flex-1"
            value={pair.value}
            autoComplete="off"
            onChange={(event) => change(at, { value: event.target.value })}
          />
          <May to="update_source">
            <Button
              variant="quiet"
              isIcon
              aria-label={`Remove row ${at + 1} of ${title.toLowerCase()}`}
              onClick={() => field.onChange(pairs.filter((_, other) => other !== at))}
            >
              <X aria-hidden size={14} />
            </Button>
          </May>
        </div>
      ))}
      <May to="update_source">
        <Button size="small" className="self-start" onClick={() => field.onChange([...pairs, { key: "", value: "" }])}>
          <Plus aria-hidden size={13} /> {add}
        </Button>
      </May>
      <FieldProblem control={control} name={name} />
    </fieldset>
  );
}
