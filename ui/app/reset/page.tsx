import type { Metadata } from "next";
import { Suspense } from "react";

import { NewPassword } from "@/features/sign-in/new-password";

export const metadata: Metadata = { title: "New password" };

export default function NewPasswordPage() {
  return (
    <Suspense>
      <NewPassword />
    </Suspense>
  );
}
