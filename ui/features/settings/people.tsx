"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import dynamic from "next/dynamic";
import { parseAsInteger, useQueryState } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { memberKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonRows, tellFailure } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Select } from "@/components/ui/select";
import { usePermissions } from "@/state/permissions";
import type { Role } from "@/state/session";
import { useLastPage } from "@/state/use-last-page";

import { invitationKeys, invitationsQuery, membersQuery, ROWS_A_PAGE } from "./queries";
import { rolesFor } from "./roles";
import { SettingsHead } from "./settings-tabs";

const InviteDialog = dynamic(() => import("./invite-dialog").then((module) => module.InviteDialog), { ssr: false });

type Member = Schemas["MemberResponse"];
type Invitation = Schemas["InvitationResponse"];

const LAST_OWNER = "An organization needs an owner. Make another member an owner first.";
/** Members with their roles, and invitations that nobody has accepted yet. */
export function People() {
  const client = useQueryClient();
  const { may, permission } = usePermissions();
  const [page, setPage] = useQueryState("page", parseAsInteger.withDefault(1));
  const skip = (Math.max(1, page) - 1) * ROWS_A_PAGE;
  const members = useQuery(membersQuery(skip));
  useLastPage(page, members.data?.total_count, ROWS_A_PAGE, (last) => setPage(last, { history: "replace" }));
  const invitations = useQuery({ ...invitationsQuery(), enabled: may("list_invitations") });
  const [isInviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<Member | null>(null);
  const refresh = () =>
    Promise.all([client.invalidateQueries({ queryKey: memberKeys.all }), client.invalidateQueries({ queryKey: invitationKeys.all })]);
  const change = useMutation({
    mutationFn: ({ member, role }: { member: Member; role: Role }) =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/members/{user_id}", {
          params: { path: { ...organizationPath(), user_id: member.user_id } },
          body: { role },
        }),
      ),
    onSuccess: (changed) => toast(`${changed.email} is now ${changed.role}`),
    onError: (failure) => tellFailure("The role was not changed", failure),
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: (member: Member) =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/members/{user_id}", {
          params: { path: { ...organizationPath(), user_id: member.user_id } },
        }),
      ),
    onSuccess: (_, member) => toast(`${member.email} was removed`),
    onError: (failure) => tellFailure("The member was not removed", failure),
    onSettled: refresh,
  });
  const withdraw = useMutation({
    mutationFn: (invitation: Invitation) =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/invitations/{invitation_id}", {
          params: { path: { ...organizationPath(), invitation_id: invitation.invitation_id } },
        }),
      ),
    onSuccess: () => toast("Invitation withdrawn"),
    onError: (failure) => tellFailure("The invitation was not withdrawn", failure),
    onSettled: refresh,
  });
  const owners = members.data?.members.filter((member) => member.role === "owner") ?? [];
  // Of the other pages nothing is known here; the server protects the last owner in any case.
  const lastOwner = members.data && members.data.total_count <= ROWS_A_PAGE && owners.length === 1 ? owners[0]?.user_id : undefined;
  const open = invitations.data?.invitations ?? [];
  // Owners are made, changed and removed by owners only.
  const mayChange = (member: Member) => may("update_member") && (member.role !== "owner" || permission === "owner");
  return (
    <>
      <SettingsHead>
        {may("create_invitation") && (
          <Button variant="primary" onClick={() => setInviting(true)}>
            <Plus aria-hidden size={14} /> Invite
          </Button>
        )}
      </SettingsHead>
      <div className="min-h-0 flex-1 overflow-auto">
        {members.error && !members.data ? (
          <ErrorState error={members.error} retry={() => void members.refetch()} />
        ) : members.data?.total_count === 0 && open.length === 0 ? (
          <EmptyState title="No members yet">
            Only access tokens can open this organization.
            {may("create_invitation") && " Invite a person, who then signs in with a password."}
          </EmptyState>
        ) : (
          <DataTable
            caption="People"
            isCards
            head={
              <>
                <th data-column="name" className="pl-4!">
                  Person
                </th>
                <th className="w-[140px] max-md:w-[112px]">Role</th>
                <th className="w-[150px] max-md:hidden">Last signed in</th>
                <th className="w-[120px] max-md:w-[100px]">
                  <span className="sr-only">Actions</span>
                </th>
              </>
            }
          >
            {members.data === undefined ? (
              <SkeletonRows rows={4} columns={["40%", "60%", "60%", "60%"]} />
            ) : (
              members.data.members.map((member) => (
                <tr key={member.user_id}>
                  <td className="pl-4!" title={member.email}>
                    <span className="font-medium max-md:block max-md:truncate">{member.name}</span>{" "}
                    <span className="text-text-2 max-md:block max-md:truncate">{member.email}</span>
                  </td>
                  <td>
                    {mayChange(member) ? (
                      <Select
                        aria-label={`Role of ${member.email}`}
                        value={member.role}
                        disabled={change.isPending || member.user_id === lastOwner}
                        title={member.user_id === lastOwner ? LAST_OWNER : undefined}
                        onChange={(event) => change.mutate({ member, role: event.target.value as Role })}
                      >
                        {rolesFor(permission).map(({ role }) => (
                          <option key={role}>{role}</option>
                        ))}
                      </Select>
                    ) : (
                      <span className="text-text-2">{member.role}</span>
                    )}
                  </td>
                  <td className="text-text-2 max-md:hidden">
                    {member.last_signed_in_at ? <Time at={member.last_signed_in_at} /> : "never"}
                  </td>
                  <td className="text-right">
                    {mayChange(member) && (
                      <Button
                        disabled={member.user_id === lastOwner}
                        title={member.user_id === lastOwner ? LAST_OWNER : undefined}
                        variant="quiet"
                        size="small"
                        className="text-failed"
                        aria-label={`Remove ${member.email}`}
                        onClick={() => setLeaving(member)}
                      >
                        Remove
                      </Button>
                    )}
                  </td>
                </tr>
              ))
            )}
            {open.map((invitation) => (
              <tr key={invitation.invitation_id}>
                <td className="pl-4! text-text-2">
                  {invitation.email ?? "Anyone with the link"} (invited{invitation.made_by && ` by ${invitation.made_by.name}`})
                </td>
                <td className="text-text-2">{invitation.role_now ?? invitation.role}</td>
                <td className="text-text-2 max-md:hidden">
                  {invitation.role_now === null ? (
                    "link no longer valid: the inviter has left"
                  ) : (
                    <>
                      link until <Time at={invitation.expires_at} isPlanned />
                    </>
                  )}
                </td>
                <td className="text-right">
                  {may("delete_invitation") && (
                    <Button
                      variant="quiet"
                      size="small"
                      aria-label={`Withdraw the invitation of ${invitation.email ?? "anyone with the link"}`}
                      onClick={() => withdraw.mutate(invitation)}
                    >
                      Withdraw
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </DataTable>
        )}
      </div>
      {members.data && members.data.total_count > ROWS_A_PAGE && (
        <Pager
          skip={members.data.skip}
          shown={members.data.members.length}
          total={members.data.total_count}
          page={page}
          pageCount={Math.ceil(members.data.total_count / ROWS_A_PAGE)}
          onPage={(next) => void setPage(next, { history: "push" })}
        />
      )}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} onInvited={refresh} />}
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={(isOpen) => !isOpen && setLeaving(null)}
        title={`Remove ${leaving?.email ?? ""}?`}
        action="Remove from the organization"
        onConfirm={() => leaving && remove.mutate(leaving)}
      >
        They lose access at once, and so do the access tokens and invitations they made. To keep one of their tokens in use, take it over
        under Access tokens.
      </ConfirmDialog>
    </>
  );
}
