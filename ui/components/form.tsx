import { ApiError } from "@/api/errors";

/** What the server says about one field, under it. */
export function FieldError({ error, field }: { error: unknown; field: string }) {
  const found = error instanceof ApiError ? error.fields.find((item) => item.field === field) : undefined;
  return found ? (
    <span role="alert" className="text-failed">
      {found.reason}
    </span>
  ) : null;
}

/** What is wrong that no shown field can tell. */
export function formError(error: unknown, shownFields: readonly string[]): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof ApiError && error.fields.length > 0 && error.fields.every((item) => shownFields.includes(item.field))) {
    return null;
  }
  return error.message;
}

export function Field({
  label,
  hint,
  children,
  error,
  field,
}: {
  label: string;
  hint?: string;
  children: React.ReactNode;
  error?: unknown;
  field?: string;
}) {
  return (
    <label className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      {children}
      {hint && <span className="text-text-3">{hint}</span>}
      {field && <FieldError error={error} field={field} />}
    </label>
  );
}
