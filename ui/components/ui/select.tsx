/** A choice of one; its options are the browser's own, which phones show best. */
export function Select({ className = "", ...rest }: React.ComponentProps<"select">) {
  return <select {...rest} className={`field ${className}`.trimEnd()} />;
}
