"use client";

import Link from "next/link";
import { type Control, useController } from "react-hook-form";

import { TextField } from "@/components/ui/form";

import type { OrganizationValues } from "./organization-values";

/** The vision model, and what it reads. */
export function VisionFields({ control }: { control: Control<OrganizationValues> }) {
  return (
    <section aria-labelledby="vision" className="flex flex-col gap-3">
      <h2 id="vision" className="text-lg font-semibold">
        Figures and scanned pages
      </h2>
      <p className="text-text-2">
        A vision model can make figures searchable and read pages that OCR reads badly. Pictures of your documents are sent to the model's
        provider, and each new picture costs a call. Applies from the next extraction.
      </p>
      <TextField
        control={control}
        name="vision.model"
        label="Vision model"
        hint="A model that reads pictures, such as gpt-4o-mini."
        maxLength={200}
      />
      <span className="text-text-3">
        The model's provider needs a key of this organization:{" "}
        <Link href="/settings/providers/" className="text-link underline">
          add one
        </Link>
        .
      </span>
      <Task control={control} name="vision.describe_figures" label="Describe figures" />
      <Task control={control} name="vision.read_pages" label="Read pages that OCR reads badly" />
    </section>
  );
}

interface TaskProps {
  control: Control<OrganizationValues>;
  name: "vision.describe_figures" | "vision.read_pages";
  label: string;
}

function Task({ control, name, label }: TaskProps) {
  const { field } = useController({ control, name });
  return (
    <label className="flex items-center gap-2">
      <input type="checkbox" checked={field.value} onChange={(event) => field.onChange(event.target.checked)} />
      {label}
    </label>
  );
}
