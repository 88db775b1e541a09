import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ClientSignal } from '../../http/responses/response-end';
import { entityTagOf, IfNoneMatch, isCurrentCopy } from '../../http/request/precondition';
import { Gates } from '../../http/gates';
import { Caller, ClientOf } from '../../http/input/caller.decorator';
import { ApiPage } from '../../http/lists/api-list.decorator';
import { equalityConditions } from '../../http/lists/list.query';
import { type ListResponse, Lists } from '../../http/lists/lists';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import {
  AdmittedBy,
  AnyScope,
  NeedsSecondPerson,
  RateLimitBucket,
  RequiresScope,
  SetRouteMetadata,
} from '../../http/request/routes';
import { RecordWaiter } from '../../http/reading/record-waiter';
import { ActiveStops } from './active-stops';
import { CreateStopRequest, LiftStopRequest, StopListQuery, StopResponse } from './dto/stop.dto';
import { STOP, type Stop } from './stop.entity';
import { StoppingCallers, StopsService } from './stops.service';

/**
 * Separate rate limit bucket, so that an agent that uses up the limit of its address cannot keep a person there from
 * stopping it.
 */
const URGENT = 'stops';

/**
 * Separate rate limit bucket for readers of stops: whoever runs an agent's authorised actions must learn of stops,
 * although the agent has used up its limit.
 */
const LISTED = 'listed-stops';

type StopList = ListResponse<StopResponse>;

@ApiTags('Stops')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('stops')
export class StopsController {
  constructor(
    private readonly stops: StopsService,
    private readonly activeStops: ActiveStops,
    private readonly lists: Lists,
    private readonly waits: RecordWaiter,
    private readonly gates: Gates,
  ) {}

  @Post()
  @RequiresScope('review')
  @RateLimitBucket(URGENT)
  @AdmittedBy(StoppingCallers)
  @ApiRoute(
    'Stop agents',
    'From this commit on, nothing that it covers is authorised, whatever the policies allow, and the signals of ' +
      'running handlers that it covers are aborted. If several of `agentId`, `role` and `actions` are given, all of ' +
      'them must match; if none is given, it covers everything. For people (a key or token that is bound to an agent ' +
      'of kind `human`) and callers with `admin`.',
  )
  @ApiCreatedResponse({ type: StopResponse, description: 'The stop.' })
  @ApiOkResponse({ type: StopResponse, description: 'The active stop that says the same.' })
  async create(
    @Caller() caller: Caller,
    @Body() body: CreateStopRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StopResponse> {
    const { stop, isNew } = await this.stops.create(caller, body);
    if (!isNew) response.status(200);
    return StopResponse.from(stop);
  }

  @Get()
  @RateLimitBucket(LISTED)
  @AnyScope()
  @SetRouteMetadata({ isTagged: true, takesGatewayTokens: true })
  @ApiRoute(
    'List stops',
    'Newest first. A caller that is bound to an agent and has neither `read` nor `review` sees those that may concern it.',
  )
  @ApiPage(StopResponse, 'Stops in order of creation.')
  async list(
    @Caller() caller: Caller,
    @ClientOf() client: string,
    @ClientSignal() signal: AbortSignal,
    @IfNoneMatch() copies: string | undefined,
    @Query() { wait: seconds, ...query }: StopListQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StopList | undefined> {
    const list = await this.lists.open('stops', query, { limit: 50, order: 'desc' }, signal);
    const request = list.request(equalityConditions(list.filters));
    const page = async (): Promise<StopList> => list.answer(await this.stops.page(caller, request), StopResponse.from);
    let tag = '';
    let readOf: readonly Stop[] | null = null;
    /** Reads the list if it differs from the client's copy; undefined while it does not. */
    const read = async (): Promise<StopList | undefined> => {
      await this.activeStops.catchUp();
      const { active } = this.activeStops;
      // If the active stops are the same as before, there is nothing new to read.
      if (active === readOf) return undefined;
      // A waiting request delays no other list, because it passes the gate only for each reading.
      const newest = await this.gates.get('lists').run(client, page, { signal });
      const { data, total } = newest;
      // The tag excludes the cursor, which differs each time.
      [tag, readOf] = [entityTagOf({ data, total }), active];
      return isCurrentCopy(copies, tag) ? undefined : newest;
    };
    const isOpen = (answer: StopList | undefined): boolean => answer === undefined;
    const answer = await this.waits.waitForChange({ caller, seconds, signal, read, isOpen });
    response.setHeader('ETag', tag);
    if (answer === undefined) response.status(304);
    return answer;
  }

  @Get(':id')
  @AnyScope()
  @ApiRoute('Read a stop', 'What it covers, why, and whether it is still active.')
  @ApiRecordId(STOP)
  @Answers({ type: StopResponse, description: 'The stop.' })
  async get(@Caller() caller: Caller, @Param('id') id: string): Promise<StopResponse> {
    return StopResponse.from(await this.stops.get(caller, id));
  }

  @Post(':id/lift')
  @RateLimitBucket(URGENT)
  @RequiresScope('review')
  @NeedsSecondPerson({ summary: ({ params }) => `Lift the stop ${params['id']}` })
  @ApiRoute('Lift a stop', 'For whoever made it, and callers with `admin`. Repeating this changes nothing.')
  @ApiRecordId(STOP)
  @Answers({ type: StopResponse, description: 'The lifted stop.' })
  async lift(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: LiftStopRequest,
  ): Promise<StopResponse> {
    return StopResponse.from(await this.stops.lift(caller, id, reason));
  }
}
