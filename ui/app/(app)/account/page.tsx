import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Account } from "@/features/account/account";

export default function AccountPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Account />
    </Suspense>
  );
}
