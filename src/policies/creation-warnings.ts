import { Injectable } from '@nestjs/common';
import { AGENT } from '../agents/agent.kind';
import { RecordReader } from '../ledger/reading/record-reader';
import { Slices } from '../shared/slices';
import { ApproverSearch, approverWarnings } from './approval/approver-search';
import { conditionWarnings, policyWarnings } from './evaluation/policy-warnings';
import { mistakenName, mistakenSubjects } from './mistaken-subjects';
import type { PolicyContent } from './policy-content';

/**
 * Warnings for policies being created: parts that match nothing, that match more than they seem to, or that need
 * approvers who do not exist.
 */
@Injectable()
export class CreationWarnings {
  constructor(
    private readonly approvers: ApproverSearch,
    private readonly records: RecordReader,
  ) {}

  async of(policy: PolicyContent): Promise<string[]> {
    return (await this.ofAll([policy])).get(policy) ?? [];
  }

  /** In chunks. What all of them name is looked up together. */
  async ofAll(policies: readonly PolicyContent[]): Promise<ReadonlyMap<PolicyContent, string[]>> {
    const agents = await this.mistakenAgents(policies);
    const known = await this.approvers.knownFor(policies.flatMap(({ approval }) => approval?.approvers ?? []));
    const slices = new Slices();
    const warnings = new Map<PolicyContent, string[]>();
    for (const policy of policies) {
      if (slices.areDue) await slices.next();
      const { approval, subjects } = policy;
      const ofGroups = approval === null ? [] : approverWarnings(approval.approvers, known);
      const mistaken = mistakenSubjects(subjects, agents);
      warnings.set(policy, [...policyWarnings(policy), ...mistaken, ...conditionWarnings(policy), ...ofGroups]);
    }
    return warnings;
  }

  /** The names of agents that subjects may have meant. */
  private async mistakenAgents(policies: readonly PolicyContent[]): Promise<ReadonlySet<string>> {
    const slices = new Slices();
    const names = new Set<string>();
    for (const { subjects } of policies) {
      if (slices.areDue) await slices.next();
      for (const subject of subjects) {
        const name = mistakenName(subject);
        if (name !== null) names.add(name);
      }
    }
    const agents = await this.records.allAmong(
      AGENT,
      ['name'],
      Array.from(names, (name) => [name]),
    );
    return new Set(agents.map(({ name }) => name));
  }
}
