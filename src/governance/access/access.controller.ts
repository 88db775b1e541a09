import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { Caller } from '../../http/input/caller.decorator';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiErrors, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { ClientSignal } from '../../http/responses/response-end';
import { AccessReviews } from './access-reviews';
import { AccessService } from './access.service';
import { AccessQuery, ReviewAccessRequest } from './dto/access.requests';
import { AccessResponse, AccessReviewResponse, UnreviewedAgentsResponse } from './dto/access.response';

const ApiAgent = (): MethodDecorator =>
  ApiParam({ name: 'id', description: "The agent's id, or its name percent-encoded.", example: 'reminder-bot' });

@ApiTags('Agents')
@Controller()
export class AccessController {
  constructor(
    private readonly access: AccessService,
    private readonly reviews: AccessReviews,
  ) {}

  @Get('agents/:id/access')
  @RequiresScope('read')
  @ApiRoute(
    'Read what an agent may do',
    'Exactly, by the policies in force, its capabilities and the default effect, in regions as those of a plan. ' +
      'Conditions, limits and approvers are named, and not evaluated. It counts among plans, of which one is made at a time.',
  )
  @ApiAgent()
  @Answers({ type: AccessResponse, description: 'What the agent may do.' })
  get(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() query: AccessQuery,
  ): Promise<AccessResponse> {
    return this.access.find(caller, id, query, signal);
  }

  @Post('agents/:id/access/review')
  @RequiresScope('review')
  @SetRouteMetadata({ refusesRepeatedNames: true })
  @ApiRoute(
    'Review what an agent may do',
    'Puts on record that a person has seen it. Requires a key or token that is bound to an agent of kind `human`, other than ' +
      'this one. The same again within a day adds nothing.',
  )
  @ApiAgent()
  @Answers({ type: AccessReviewResponse, description: 'The review.' })
  @ApiErrors('CONFLICT')
  review(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ReviewAccessRequest,
  ): Promise<AccessReviewResponse> {
    return this.reviews.review(caller, id, body);
  }

  @Get('access-reviews')
  @RequiresScope('read')
  @SetRouteMetadata({ isList: true })
  @ApiRoute(
    'List agents whose access has to be reviewed',
    'Agents whose access nobody has reviewed, or that have changed since, or since whose review other policies came into force. Newest first.',
  )
  @Answers({ type: UnreviewedAgentsResponse, description: 'The agents.' })
  unreviewed(@Caller() caller: Caller): Promise<UnreviewedAgentsResponse> {
    return this.reviews.unreviewed(caller);
  }
}
