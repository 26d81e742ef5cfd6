"use client";

import { Group, Panel, Separator } from "react-resizable-panels";

/** Two panes beside each other, whose border can be moved by pointer and keyboard. */
export default function SplitView({ first, second, label }: { first: React.ReactNode; second: React.ReactNode; label: string }) {
  return (
    <Group orientation="horizontal" className="h-full">
      <Panel minSize="25%">{first}</Panel>
      <Separator className="w-[5px] border-l border-line hover:bg-hover focus-visible:bg-focus" aria-label={label} />
      <Panel minSize="25%">{second}</Panel>
    </Group>
  );
}
