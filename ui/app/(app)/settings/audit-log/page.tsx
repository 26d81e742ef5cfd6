import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { AuditLog } from "@/features/settings/audit-log";

export default function AuditLogPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <AuditLog />
    </Suspense>
  );
}
