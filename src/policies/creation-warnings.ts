import { Injectable } from '@nestjs/common';
import { Slices } from '../shared/slices';
import { ApproverSearch } from './approval/approver-search';
import { conditionWarnings, policyWarnings } from './evaluation/policy-warnings';
import { MistakenSubjects } from './mistaken-subjects';
import type { PolicyContent } from './policy-content';

/**
 * Warnings for policies being created: parts that match nothing, that match more than they seem to, or that need
 * approvers who do not exist.
 */
@Injectable()
export class CreationWarnings {
  constructor(
    private readonly approvers: ApproverSearch,
    private readonly mistaken: MistakenSubjects,
  ) {}

  async of(policy: PolicyContent): Promise<string[]> {
    return this.warningsOf(policy, await this.approvers.warnings(policy.approval?.approvers ?? []));
  }

  /** In chunks; equal groups of approvers are looked up only once. */
  async ofAll(policies: readonly PolicyContent[]): Promise<ReadonlyMap<PolicyContent, string[]>> {
    const slices = new Slices();
    const ofGroups = new Map<string, string[]>();
    const warnings = new Map<PolicyContent, string[]>();
    for (const policy of policies) {
      await slices.next();
      const groups = policy.approval?.approvers ?? [];
      const key = JSON.stringify(groups);
      const found = ofGroups.get(key) ?? (await this.approvers.warnings(groups));
      ofGroups.set(key, found);
      warnings.set(policy, await this.warningsOf(policy, found));
    }
    return warnings;
  }

  private async warningsOf(policy: PolicyContent, ofGroups: readonly string[]): Promise<string[]> {
    const mistaken = await this.mistaken.warnings(policy.subjects);
    return [...policyWarnings(policy), ...mistaken, ...conditionWarnings(policy), ...ofGroups];
  }
}
