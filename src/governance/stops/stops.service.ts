import { Injectable } from '@nestjs/common';
import { conflict, type DomainError, requireFound, scopeMissing } from '../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { byId } from '../../ledger/kinds/lookup';
import type { Condition, Page, PageRequest } from '../../ledger/kinds/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { arraysOfOne } from '../../ledger/records/statements';
import { AGENT } from '../agents/agent.entity';
import { agentLookup, requireReferencedAgent } from '../agents/find-agent';
import { ActiveStops } from './active-stops';
import type { CreateStopRequest } from './dto/stop.dto';
import { concerns, isSameContent, STOP, type Stop, type StopContent, type StoppableSubject } from './stop.entity';
import type { AdmissionRule } from '../../http/request/routes';

/** Most active stops of one caller, and in all. A stop that covers everything is accepted beyond them. */
const MAX_STOPS_EACH = 100;
const MAX_STOPS = 1_000;

@Injectable()
export class StopsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly stops: ActiveStops,
  ) {}

  /**
   * Creates a stop, or returns an active one with the same content. `isNew` is true if this request created it.
   * @throws VALIDATION_ERROR for an unknown agent; CONFLICT at a limit
   */
  create(caller: Caller, request: CreateStopRequest): Promise<{ readonly stop: Stop; readonly isNew: boolean }> {
    const { agentId } = request;
    const lookups = agentId === undefined ? [] : [agentLookup(agentId)];
    return this.ledger.withLookups(...lookups).write(caller, async (transaction) => {
      const content = await contentOf(transaction, request);
      const same = this.stops.active.find((stop) => isSameContent(stop, content));
      if (same !== undefined) return { stop: same, isNew: false };
      const createdBy = makerOf(caller);
      this.requireRoom(content, createdBy);
      const id = transaction.newId(STOP);
      const activeState = { status: 'active', createdAt: transaction.now, liftedAt: null } as const;
      const record = { id, ...content, ...activeState, createdBy };
      const stop = transaction.insert(STOP, record, { action: 'stop.created', agentId: caller.agentId });
      return { stop, isNew: true };
    });
  }

  /**
   * Lifts a stop; does nothing if it was lifted. @throws NOT_FOUND; PERMISSION_DENIED for another maker's without
   * `admin`
   */
  lift(caller: Caller, id: string, reason: string): Promise<Stop> {
    return this.ledger.withLookups(byId(STOP, id)).write(caller, async (transaction) => {
      const stop = requireFound(await transaction.find(STOP, id), 'stop');
      if (stop.status === 'lifted') return stop;
      if (!caller.effectiveScopes.has('admin') && stop.createdBy !== makerOf(caller)) throw scopeMissing(['admin']);
      const lifted = { ...stop, status: 'lifted', liftedAt: transaction.now, createdBy: '' } as const;
      return transaction.update(STOP, lifted, { action: 'stop.lifted', agentId: caller.agentId, reason });
    });
  }

  /** @throws NOT_FOUND, also for a stop that the caller may not see */
  async get(caller: Caller, id: string): Promise<Stop> {
    const stop = await this.records.find(STOP, id, caller);
    const viewer = await this.limitedViewer(caller);
    const isVisible = stop !== undefined && (viewer === null || concerns(stop, viewer));
    return requireFound(isVisible ? stop : undefined, 'stop');
  }

  /** Returns a page of the stops that the caller may see, and their total. */
  async page(caller: Caller, request: PageRequest): Promise<Page<Stop>> {
    const viewer = await this.limitedViewer(caller);
    const onlyAgentId = viewer?.agentId ?? null;
    const total = (request.totalOf ?? null) === onlyAgentId ? request.total : null;
    const conditions = viewer === null ? request.conditions : [...request.conditions, ...conditionsOf(viewer)];
    const page = await this.records.page(STOP, { ...request, conditions, total }, caller);
    return { ...page, totalOf: onlyAgentId ?? page.totalOf ?? null };
  }

  private requireRoom({ agentId, role, actions }: StopContent, createdBy: string): void {
    const isEverything = agentId === null && role === null && (actions.length === 0 || actions.includes('*'));
    if (isEverything) return;
    const { active } = this.stops;
    const own = active.filter((stop) => stop.createdBy === createdBy).length;
    if (own < MAX_STOPS_EACH && active.length < MAX_STOPS) return;
    throw conflict(
      `At most ${MAX_STOPS_EACH} stops of one caller and ${MAX_STOPS} in all are active at a time. Lift some, or stop everything: ` +
        'a stop without agent, role and actions is always taken.',
    );
  }

  /** Returns the caller's agent if the caller only sees stops that may concern it; null if it sees all. */
  private async limitedViewer({ agentId, effectiveScopes }: Caller): Promise<StoppableSubject | null> {
    if (agentId === null || effectiveScopes.has('read') || effectiveScopes.has('review')) return null;
    const agent = await this.records.find(AGENT, agentId, SYSTEM_CALLER);
    return { agentId, roles: agent?.roles ?? [] };
  }
}

function conditionsOf({ agentId = '', roles }: StoppableSubject): Condition[] {
  return [
    { column: 'agentId', comparison: 'nullOrAmong', value: arraysOfOne([agentId]) },
    { column: 'role', comparison: 'nullOrAmong', value: arraysOfOne(roles) },
  ];
}

async function contentOf(
  transaction: LedgerTransaction,
  { agentId, role, actions = [], reason }: CreateStopRequest,
): Promise<StopContent> {
  const agent = agentId === undefined ? null : await requireReferencedAgent(transaction, 'agentId', agentId);
  return { agentId: agent?.id ?? null, role: role ?? null, actions, reason };
}

/** Returns the id of a stop's maker: the agent, if any, so that a person who changes keys remains the maker. */
function makerOf({ agentId, actor }: Caller): string {
  return agentId ?? `${actor.type}:${actor.id}`;
}

/** Admits people and admins to stopping; a machine must not stop others. An agent's kind never changes. */
@Injectable()
export class StoppingCallers implements AdmissionRule {
  constructor(private readonly records: RecordReader) {}

  async refusalOf({ effectiveScopes, agentId }: Caller): Promise<DomainError | null> {
    if (effectiveScopes.has('admin')) return null;
    const agent = agentId === null ? undefined : await this.records.find(AGENT, agentId, SYSTEM_CALLER);
    return agent?.kind === 'human' ? null : scopeMissing(['admin']);
  }
}
