import { ApiError } from "@/api/errors";

/** The classes of a field, for elements that other libraries render. */
export function fieldClass(className = ""): string {
  return className === "" ? "field" : `field ${className}`;
}

/** A field of one line: text, number, date and so on. */
export function Input({ className, ...rest }: React.ComponentProps<"input">) {
  return <input {...rest} className={fieldClass(className)} />;
}

/** A field of several lines. */
export function Textarea({ className, ...rest }: React.ComponentProps<"textarea">) {
  return <textarea {...rest} className={fieldClass(className)} />;
}

/** A label above its field, with a hint and what is wrong below. */
export function Field({
  label,
  hint,
  problem,
  error,
  field,
  isQuiet = false,
  className = "",
  children,
}: {
  label: React.ReactNode;
  hint?: string | undefined;
  /** What this page found wrong. */
  problem?: string | null | undefined;
  /** A failed request; its sentence on `field` is shown. */
  error?: unknown;
  field?: string;
  /** A label among many. */
  isQuiet?: boolean;
  className?: string;
  children: React.ReactNode;
}) {
  const refusal = problem ?? (field === undefined ? null : refusalOf(error, field));
  return (
    <label className={`flex flex-col gap-1 ${className}`}>
      <span className={isQuiet ? "text-text-2" : "font-medium"}>{label}</span>
      {children}
      {hint && <span className="text-text-3">{hint}</span>}
      {refusal && <Refusal>{refusal}</Refusal>}
    </label>
  );
}

/** What is wrong with a field. */
export function Refusal({ children }: { children: React.ReactNode }) {
  return (
    <span role="alert" className="text-failed">
      {children}
    </span>
  );
}

function refusalOf(error: unknown, field: string): string | null {
  return error instanceof ApiError ? (error.fields.find((item) => item.field === field)?.reason ?? null) : null;
}

/** The server's sentence on one field, where no Field shows it. */
export function FieldError({ error, field }: { error: unknown; field: string }) {
  const refusal = refusalOf(error, field);
  return refusal === null ? null : <Refusal>{refusal}</Refusal>;
}

/** The part of a failure that no shown field tells. */
export function formError(error: unknown, shownFields: readonly string[]): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof ApiError && error.fields.length > 0 && error.fields.every((item) => shownFields.includes(item.field))) {
    return null;
  }
  return error.message;
}
