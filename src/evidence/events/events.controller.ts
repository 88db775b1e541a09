import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiRoute } from '../../http/openapi/response-members';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiEventStream, EventStream, LastEventId } from '../../http/responses/event-stream';
import { Caller } from '../../http/input/caller.decorator';
import { RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { EventsService } from './events.service';
import { QueryAgent } from '../../governance/agents/dto/agent.dto';
import { QueryInteger, QueryText, QueryTexts } from '../../http/validation/query-fields';
import { eventPatternFault, followedActions, MAX_PATTERN_CHARACTERS } from './event-filter';

class EventsQuery {
  @QueryInteger({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'The stream begins after this sequence; 0: with the first event. Default: only new events are sent.',
  })
  readonly after?: number;

  @QueryTexts({
    maxItems: 50,
    item: { max: MAX_PATTERN_CHARACTERS, rule: eventPatternFault },
    description: 'Only events of one of these actions, each an action or a family of them, such as `entity.*`.',
  })
  readonly action?: string[];

  @QueryAgent('Only events of the agent with this id or name.')
  readonly agentId?: string;

  @QueryText({ max: 500, description: 'Only events about the entity with this id.' })
  readonly entityId?: string;

  @QueryText({ max: 500, description: 'Only events about the record with this id.' })
  readonly subjectId?: string;
}

/** The audit view of the ledger's entries, as they are written. */
@ApiTags('Events')
@RequiresScope('audit', 'report')
@Controller('events')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  @Get()
  @SetRouteMetadata({ repeatable: ['action'] })
  @ApiRoute(
    'Follow the audit trail',
    'Server-sent events, one for each audit entry, in order, whichever process wrote it. A client that reconnects ' +
      'with `Last-Event-ID` misses nothing. A comment is sent after 15 seconds without an event. A stream is closed when ' +
      'its client does not keep up with the events, when its key, its token or its agent ends, and when the service stops. ' +
      'A key with the scope `report` follows `stop.*`, `agent.suspended`, `api_key.revoked` and `api_key.expired` only.',
  )
  @ApiEventStream({
    'X-Head-Sequence': {
      schema: { type: 'integer' },
      description: 'Sequence of the last entry when the stream began.',
    },
  })
  async follow(
    @Caller() caller: Caller,
    @Query() { after, action, ...ids }: EventsQuery,
    @LastEventId() lastEventId: number | undefined,
    @ClientSignal() signal: AbortSignal,
    @Res() response: Response,
  ): Promise<void> {
    const actions = followedActions(caller, action);
    const filter = actions === undefined ? ids : { ...ids, actions };
    const stream = new EventStream(response);
    signal.addEventListener('abort', () => stream.end(), { once: true });
    await this.events.begin(caller, { filter, after, lastEventId }, stream);
  }
}
