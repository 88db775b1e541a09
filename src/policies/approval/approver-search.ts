import { Injectable } from '@nestjs/common';
import type { Agent } from '../../agents/agent.entity';
import { AGENT } from '../../agents/agent.kind';
import { findAgents } from '../../agents/find-agent';
import { ListedValues } from '../../ledger/reading/listed-values';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition } from '../../ledger/record-page';
import { RecordHistory } from '../../ledger/record-history';
import { Slices } from '../../shared/slices';
import { parseSubject } from '../patterns/subject-pattern';
import type { SubjectPattern } from '../patterns/subject-pattern';
import type { ApproverGroup } from './approval-requirement';

/** Who could approve, by the subject of a group. */
export type KnownApprovers = ReadonlyMap<string, Found>;

/** Who could approve for a group. */
interface Found {
  /** Whether an active agent matches. */
  readonly isMatched: boolean;
  readonly byMachines: boolean;
}

/** What subjects refer to. */
interface Looked {
  readonly agents: ReadonlyMap<string, Agent>;
  /** The roles that an active person has. */
  readonly roles: ReadonlySet<string>;
  readonly isAnyMachine: boolean;
  readonly isAnyPerson: boolean;
  readonly isAnyPersonWithRoles: boolean;
}

const NOBODY: Found = { isMatched: false, byMachines: false };
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
const MACHINE: Condition = { ...PERSON, value: 'machine' };
/** Agents read at once where no index can be used. */
const CHUNK = 1_000;

/** Searches the registered agents for those who could approve. */
@Injectable()
export class ApproverSearch {
  constructor(
    private readonly records: RecordReader,
    private readonly history: RecordHistory,
    private readonly listed: ListedValues,
  ) {}

  /** Looks up whom all these groups name, in few statements however many they are. */
  async knownFor(groups: Iterable<ApproverGroup>): Promise<KnownApprovers> {
    const patterns = await patternsOf(groups);
    const looked = await this.looked([...patterns.values()]);
    const known = new Map<string, Found>();
    const slices = new Slices();
    for (const [subject, pattern] of patterns) {
      if (slices.areDue) await slices.next();
      known.set(subject, foundBy(pattern, looked));
    }
    return known;
  }

  private async looked(patterns: readonly SubjectPattern[]): Promise<Looked> {
    const idsOrNames = patterns.flatMap((pattern) => (pattern.kind === 'agent' ? [pattern.idOrName] : []));
    const roles = patterns.flatMap((pattern) => (pattern.kind === 'role' ? [pattern.role] : []));
    const areAsked = (...kinds: readonly SubjectPattern['kind'][]): boolean =>
      patterns.some(({ kind }) => kinds.includes(kind));
    const areKindsAsked = areAsked('everyone', 'anyAgent', 'agentKind');
    return {
      agents: await findAgents(this.history, new Set(idsOrNames)),
      roles: await this.listed.among(AGENT, 'roles', roles, { kind: 'human', status: 'active' }),
      isAnyMachine: areKindsAsked && (await this.isAny([MACHINE])),
      isAnyPerson: areKindsAsked && (await this.isAny([PERSON])),
      isAnyPersonWithRoles: areAsked('anyRole') && (await this.isAnyPersonWithRoles()),
    };
  }

  private async isAny(conditions: readonly Condition[]): Promise<boolean> {
    for await (const agents of this.records.chunks(AGENT, [...conditions, ACTIVE], 1)) return agents.length > 0;
    return false;
  }

  private async isAnyPersonWithRoles(): Promise<boolean> {
    for await (const agents of this.records.chunks(AGENT, [PERSON, ACTIVE], CHUNK))
      if (agents.some(({ roles }) => roles.length > 0)) return true;
    return false;
  }
}

/** Names groups that currently nobody could approve for, and those that a machine could. */
export function approverWarnings(groups: readonly ApproverGroup[], known: KnownApprovers): string[] {
  return groups.flatMap(({ subjects }, index) => {
    const found = subjects.map((subject) => known.get(subject) ?? NOBODY);
    const group = `approval.approvers[${index}] (${subjects.join(', ')})`;
    return [
      ...(found.some(({ isMatched }) => isMatched) ? [] : [`No active agent matches ${group}.`]),
      ...(found.some(({ byMachines }) => byMachines) ? [`Machines can approve for ${group}.`] : []),
    ];
  });
}

/** In chunks. */
async function patternsOf(groups: Iterable<ApproverGroup>): Promise<Map<string, SubjectPattern>> {
  const slices = new Slices();
  const patterns = new Map<string, SubjectPattern>();
  for (const { subjects } of groups) {
    if (slices.areDue) await slices.next();
    for (const subject of subjects) if (!patterns.has(subject)) patterns.set(subject, parseSubject(subject));
  }
  return patterns;
}

function foundBy(pattern: SubjectPattern, looked: Looked): Found {
  switch (pattern.kind) {
    case 'agent': {
      const agent = looked.agents.get(pattern.idOrName);
      return { isMatched: agent?.status === 'active', byMachines: agent?.kind === 'machine' };
    }
    case 'agentKind': {
      const byMachines = pattern.agentKind === 'machine';
      return { isMatched: byMachines ? looked.isAnyMachine : looked.isAnyPerson, byMachines };
    }
    case 'role':
      return { isMatched: looked.roles.has(pattern.role), byMachines: false };
    case 'anyRole':
      return { isMatched: looked.isAnyPersonWithRoles, byMachines: false };
    case 'everyone':
    case 'anyAgent':
      return { isMatched: looked.isAnyPerson, byMachines: false };
    case 'other':
      return NOBODY;
  }
}
