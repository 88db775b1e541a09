import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiExamples } from '../docs/api-examples.decorator';
import { ApiRecordId } from '../docs/api-record-id.decorator';
import { Caller } from '../http/caller.decorator';
import { ApiErrors } from '../http/errors/api-errors.decorator';
import { ApiList } from '../http/lists/api-list.decorator';
import { conditionsOf } from '../http/lists/conditions';
import { Lists } from '../http/lists/lists';
import type { ListAnswer } from '../http/lists/open-list';
import { DecisionReviewsService } from './decision-reviews.service';
import { DECISION } from './decision.kind';
import { DecisionsService } from './decisions.service';
import { ApproveDecisionRequest } from './dto/approve-decision.request';
import { DecisionListQuery } from './dto/decision-list.query';
import { DecisionResponse } from './dto/decision.response';
import { ProposeDecisionRequest } from './dto/propose-decision.request';
import { RejectDecisionRequest } from './dto/reject-decision.request';

@ApiTags('Decisions')
@Controller('decisions')
export class DecisionsController {
  constructor(
    private readonly decisions: DecisionsService,
    private readonly reviews: DecisionReviewsService,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List decisions' })
  @ApiList(DecisionResponse, 'Decisions in order of creation.')
  async list(@Query() query: DecisionListQuery): Promise<ListAnswer<DecisionResponse>> {
    const list = this.lists.open('decisions', query, { limit: 50, order: 'asc' });
    const conditions = conditionsOf(list.filters, {
      status: ['status', 'equals'],
      riskLevel: ['riskLevel', 'equals'],
      type: ['type', 'equals'],
      proposedBy: ['proposedBy', 'equals'],
    });
    return list.answer(await this.decisions.list(list.request(conditions)), DecisionResponse.from);
  }

  @Post()
  @ApiOperation({ summary: 'Propose a decision' })
  @ApiExamples({
    'one to approve': {},
    'one to reject': { title: 'Deploy release 4.3 of the payment gateway', context: { change: 'CHG-1043' } },
  })
  @ApiCreatedResponse({ type: DecisionResponse, description: 'The recorded decision.' })
  @ApiErrors('PERMISSION_DENIED')
  async propose(@Caller() caller: Caller, @Body() body: ProposeDecisionRequest): Promise<DecisionResponse> {
    return DecisionResponse.from(await this.decisions.propose(caller, body));
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a decision' })
  @ApiRecordId(DECISION)
  @ApiOkResponse({ type: DecisionResponse, description: 'The decision.' })
  @ApiErrors('NOT_FOUND')
  async get(@Param('id') id: string): Promise<DecisionResponse> {
    return DecisionResponse.from(await this.decisions.get(id));
  }

  @Post(':id/approve')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Approve a decision',
    description:
      'Each approver reviews once; the proposer cannot approve its own decision. A settled decision is final. A policy that ' +
      'denies `decision:approve` on `decisions/<riskLevel>/<type>` stops an approver.',
  })
  @ApiRecordId(DECISION)
  @ApiOkResponse({ type: DecisionResponse, description: 'The decision; approved once it has its required approvals.' })
  @ApiErrors('NOT_FOUND', 'CONFLICT', 'PERMISSION_DENIED', 'POLICY_DENIED')
  async approve(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { approverId, comment }: ApproveDecisionRequest,
  ): Promise<DecisionResponse> {
    const review = { verdict: 'approve', approverId, comment: comment ?? null } as const;
    return DecisionResponse.from(await this.reviews.review(caller, id, review));
  }

  @Post(':id/reject')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Reject a decision',
    description: 'Without `approverId` the holder of the API key rejects. `reason` is another name of `comment`.',
  })
  @ApiRecordId(DECISION, { sample: 2 })
  @ApiBody({ type: RejectDecisionRequest, required: false })
  @ApiOkResponse({ type: DecisionResponse, description: 'The decision; one rejection rejects.' })
  @ApiErrors('NOT_FOUND', 'CONFLICT', 'PERMISSION_DENIED', 'POLICY_DENIED')
  async reject(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { approverId, comment, reason }: RejectDecisionRequest,
  ): Promise<DecisionResponse> {
    const review = { verdict: 'reject', approverId: approverId ?? null, comment: comment ?? reason ?? null } as const;
    return DecisionResponse.from(await this.reviews.review(caller, id, review));
  }
}
