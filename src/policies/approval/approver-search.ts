import { Injectable } from '@nestjs/common';
import { AGENT } from '../../agents/agent.kind';
import { findAgent } from '../../agents/find-agent';
import type { Condition } from '../../ledger/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { parseSubject } from '../patterns/subject-pattern';
import type { SubjectPattern } from '../patterns/subject-pattern';
import type { ApproverGroup } from './approval-requirement';

/** Who could approve for a group. */
interface Found {
  /** Whether an active agent matches. */
  readonly isMatched: boolean;
  readonly byMachines: boolean;
}

const NOBODY: Found = { isMatched: false, byMachines: false };
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
/** Agents read at once where no index can be used. */
const CHUNK = 1_000;

/** Searches the registered agents for those who could approve. */
@Injectable()
export class ApproverSearch {
  constructor(private readonly records: RecordReader) {}

  /** Names groups that currently nobody could approve for, and those that a machine could. */
  async warnings(groups: readonly ApproverGroup[]): Promise<string[]> {
    const warnings: string[] = [];
    for (const [index, { subjects }] of groups.entries()) {
      const { isMatched, byMachines } = await this.found(subjects);
      const group = `approval.approvers[${index}] (${subjects.join(', ')})`;
      if (!isMatched) warnings.push(`No active agent matches ${group}.`);
      if (byMachines) warnings.push(`Machines can approve for ${group}.`);
    }
    return warnings;
  }

  private async found(subjects: readonly string[]): Promise<Found> {
    let found = NOBODY;
    for (const subject of subjects) {
      const { isMatched, byMachines } = await this.foundBy(parseSubject(subject), found.isMatched);
      found = { isMatched: found.isMatched || isMatched, byMachines: found.byMachines || byMachines };
      if (found.isMatched && found.byMachines) break;
    }
    return found;
  }

  /** Once an active agent is known to match, only machines are searched for. */
  private async foundBy(pattern: SubjectPattern, isMatched: boolean): Promise<Found> {
    switch (pattern.kind) {
      case 'agent': {
        const agent = await findAgent(this.records, pattern.idOrName);
        return { isMatched: agent?.status === 'active', byMachines: agent?.kind === 'machine' };
      }
      case 'agentKind': {
        const kind: Condition = { ...PERSON, value: pattern.agentKind };
        return { isMatched: isMatched || (await this.isAny([kind])), byMachines: pattern.agentKind === 'machine' };
      }
      case 'other':
        return NOBODY;
      case 'everyone':
      case 'anyAgent':
      case 'anyRole':
      case 'role':
        return { isMatched: isMatched || (await this.isAnyPerson(pattern)), byMachines: false };
    }
  }

  private isAnyPerson(pattern: SubjectPattern): Promise<boolean> {
    if (pattern.kind === 'anyRole') return this.isAnyWithRoles();
    const role: Condition[] =
      pattern.kind === 'role' ? [{ column: 'roles', comparison: 'contains', value: pattern.role }] : [];
    return this.isAny([...role, PERSON]);
  }

  private async isAny(conditions: readonly Condition[]): Promise<boolean> {
    for await (const agents of this.records.chunks(AGENT, [...conditions, ACTIVE], 1)) return agents.length > 0;
    return false;
  }

  private async isAnyWithRoles(): Promise<boolean> {
    for await (const agents of this.records.chunks(AGENT, [PERSON, ACTIVE], CHUNK))
      if (agents.some(({ roles }) => roles.length > 0)) return true;
    return false;
  }
}
