/** What of a quota is used; without a quota, only how much it is. */
export function UsageMeter({
  label,
  used,
  most,
  format,
}: {
  label: string;
  used: number;
  most: number | null;
  format: (value: number) => string;
}) {
  const share = most === null ? 0 : most === 0 ? 1 : Math.min(1, used / most);
  const tone = share >= 1 ? "bg-failed" : share >= 0.9 ? "bg-warn" : "bg-accent";
  return (
    <div className="flex flex-col gap-1">
      <div className="flex flex-wrap justify-between gap-x-3">
        <span className="font-medium">{label}</span>
        <span className="text-text-2">{most === null ? `${format(used)} used, no quota` : `${format(used)} of ${format(most)} used`}</span>
      </div>
      {most !== null && (
        <div
          role="meter"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={most}
          aria-valuenow={Math.min(used, most)}
          aria-valuetext={`${format(used)} of ${format(most)}`}
          className="h-1.5 overflow-hidden rounded-full bg-line"
        >
          <div className={`h-full ${tone}`} style={{ width: `${share * 100}%` }} />
        </div>
      )}
      {most !== null && share >= 1 && <span className="text-failed">Used up: an operator of this server can give you more.</span>}
    </div>
  );
}
