import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiRoute } from '../../http/openapi/answer-members';
import { ClientLeft } from '../../http/answers/answer-end';
import { ApiEventStream, EventStream } from '../../http/answers/event-stream';
import { Caller } from '../../http/input/caller.decorator';
import { LastEventId } from '../../http/input/last-event-id.decorator';
import { RepeatableParameters, RequiresScope } from '../../http/request/routes';
import { EventsQuery } from './dto/events.query';
import { EventsService } from './events.service';

/** The audit view of the ledger's entries, as they are written. */
@ApiTags('Events')
@RequiresScope('audit')
@Controller('events')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  @Get()
  @RepeatableParameters('action')
  @ApiRoute(
    'Follow the audit trail',
    'Server-sent events, one for each audit entry, in order, whichever process wrote it. A client that reconnects ' +
      'with `Last-Event-ID` misses nothing. A comment is sent after 15 seconds without an event. A stream is closed when ' +
      'its client does not keep up with the events, when its key, its token or its agent ends, and when the service stops.',
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
    @ClientLeft() leaving: AbortSignal,
    @Res() response: Response,
  ): Promise<void> {
    const filter = action === undefined ? ids : { ...ids, actions: action };
    const stream = new EventStream(response);
    leaving.addEventListener('abort', () => stream.end(), { once: true });
    await this.events.begin(caller, { filter, after, lastEventId }, stream);
  }
}
