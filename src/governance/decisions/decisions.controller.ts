import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { withAgentId } from '../agents/find-agent';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import { AdmittedBy, ApiErrors, OwnAgentIn, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalityConditions, PageQuery } from '../../http/lists/list.query';
import { ClientSignal } from '../../http/responses/response-end';
import { WaitQuery, RecordWaiter } from '../../http/reading/record-waiter';
import { type ListResponse, Lists } from '../../http/lists/lists';
import { teamConditions } from '../../ledger/records/visibility';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Approvers } from './approvers';
import { BoundReviewers } from './reviewers';
import { ChangeProposers } from './changes/change-proposers';
import { DecisionReviewsService } from './decision-reviews.service';
import { isDecisionOpen } from './decision-rules';
import { filledGrant } from './grants/dto/grant.dto';
import { type Decision, DECISION } from './decision.entity';
import { DecisionsService } from './decisions.service';
import {
  ApproveDecisionRequest,
  ApproveTogetherRequest,
  CancelDecisionRequest,
  DecisionListQuery,
  ProposeDecisionRequest,
  RejectDecisionRequest,
} from './dto/decision.requests';
import {
  ApprovedTogetherResponse,
  ApproverListResponse,
  DecisionResponse,
  HeldChangeResponse,
} from './dto/decision.response';

@ApiTags('Decisions')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('decisions')
export class DecisionsController {
  constructor(
    private readonly decisions: DecisionsService,
    private readonly reviews: DecisionReviewsService,
    private readonly lists: Lists,
    private readonly waits: RecordWaiter,
    private readonly records: RecordReader,
    private readonly approvers: Approvers,
  ) {}

  @Get()
  @RequiresScope('read', 'propose', 'review')
  @ApiRoute(
    'List decisions',
    'Oldest first; filtered by status, risk level, type or proposer, or by an agent that could approve them.',
  )
  @ApiList(DecisionResponse, 'Decisions in order of creation.')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Query() query: DecisionListQuery,
  ): Promise<ListResponse<DecisionResponse>> {
    const list = await this.lists.open('decisions', query, { limit: 50, order: 'asc' }, signal);
    const { awaiting, team, ...filters } = await withAgentId(this.records, list.filters, 'proposedBy');
    const ofTeam = team === undefined ? [] : teamConditions(DECISION, team);
    const request = list.request([...equalityConditions(filters), ...ofTeam]);
    const page =
      awaiting === undefined
        ? await this.records.page(DECISION, request, caller)
        : await this.approvers.listAwaiting(caller, awaiting, request);
    return list.answer(page, DecisionResponse.from);
  }

  @Post()
  @RequiresScope('propose')
  @OwnAgentIn('proposedBy')
  @ApiRoute(
    'Propose a decision',
    'Other agents approve or reject it. Its risk level determines how many approvals it needs. At most 20 decisions of the type ' +
      '`question` that an agent proposed are open; one more is a CONFLICT.',
  )
  @ApiExamples({
    'one to cancel': {},
    'one to reject': { title: 'Deploy release 4.3 of the payment gateway', context: { change: 'CHG-1043' } },
    'one to approve together': { title: 'Deploy release 4.4 of the payment gateway', context: { change: 'CHG-1044' } },
  })
  @ApiCreatedResponse({ type: DecisionResponse, description: 'The recorded decision.' })
  async propose(@Caller() caller: Caller, @Body() body: ProposeDecisionRequest): Promise<DecisionResponse> {
    return DecisionResponse.from(await this.decisions.propose(caller, body));
  }

  @Get(':id')
  @RequiresScope('read', 'propose', 'review', 'policies', 'agents')
  @AdmittedBy(ChangeProposers)
  @ApiRoute('Read a decision', 'Includes its reviews so far.')
  @ApiRecordId(DECISION)
  @Answers({ type: DecisionResponse, description: 'The decision.' })
  @ApiErrors('CONTENT_ERASED')
  async get(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() { wait: seconds, asOf }: WaitQuery,
  ): Promise<DecisionResponse> {
    const read = (): Promise<Decision> => this.decisions.get(caller, id, asOf);
    return DecisionResponse.from(
      await this.waits.waitForChange({ id, caller, seconds, signal, read, isOpen: isDecisionOpen }),
    );
  }

  @Get(':id/change')
  @RequiresScope('review')
  @ApiRoute(
    'Read the body of a change',
    'The request of a change until its decision is settled, then 410. The URL of a chat shows only its origin. Requires FOUR_EYES.',
  )
  @ApiRecordId(DECISION)
  @Answers({ type: HeldChangeResponse, description: 'The request.' })
  @ApiErrors('CONTENT_ERASED')
  change(@Caller() caller: Caller, @Param('id') id: string): Promise<HeldChangeResponse> {
    return this.decisions.change(caller, id);
  }

  @Get(':id/approvers')
  @RequiresScope('read', 'review')
  @SetRouteMetadata({ isList: true })
  @ApiRoute(
    'List who can approve a decision',
    'The agents that its `approvers` match, or every active agent if it has no `approvers`, in order of creation; and whether the ' +
      'decision can still be approved.',
  )
  @ApiRecordId(DECISION)
  @Answers({
    type: ApproverListResponse,
    description: 'The approvers; once the decision is settled none of them can approve it.',
  })
  async listApprovers(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() { limit = 50, offset = 0 }: PageQuery,
  ): Promise<ApproverListResponse> {
    return this.approvers.list(caller, id, { limit, offset }, signal);
  }

  @Post('approve')
  @RequiresScope('review')
  @OwnAgentIn('approverId')
  @AdmittedBy(BoundReviewers)
  @ApiRoute(
    'Approve decisions together',
    'All of them are approved in one commit, or none, each by the rules for a single approval. If any is refused, ' +
      'the first refusal is the answer, and only that one is recorded.',
  )
  @Answers({ type: ApprovedTogetherResponse, description: 'The decisions, each as if it were approved alone.' })
  @ApiErrors('NOT_FOUND', 'POLICY_DENIED')
  async approveTogether(
    @Caller() caller: Caller,
    @Body() { decisions, approverId, comment }: ApproveTogetherRequest,
  ): Promise<ApprovedTogetherResponse> {
    const review = { approver: approverId, comment: comment ?? null };
    const data = (await this.reviews.approveTogether(caller, decisions, review)).map(DecisionResponse.from);
    return { data, total: data.length };
  }

  @Post(':id/approve')
  @RequiresScope('review')
  @OwnAgentIn('approverId')
  @AdmittedBy(BoundReviewers)
  @ApiRoute(
    'Approve a decision',
    'Each approver reviews once; the proposer cannot approve its own decision. A settled decision is final. A policy that ' +
      'denies `decision:approve` on `decisions/<riskLevel>/<type>` stops an approver. Approving for a group with `signed: true` requires a `signature`.',
  )
  @ApiRecordId(DECISION)
  @Answers({ type: DecisionResponse, description: 'The decision; approved once it has its required approvals.' })
  @ApiErrors('POLICY_DENIED')
  async approve(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { approverId, comment, grant, signature, delegationId }: ApproveDecisionRequest,
  ): Promise<DecisionResponse> {
    const input = { approver: approverId, comment: comment ?? null, grant: grant && filledGrant(grant), signature };
    const review = { verdict: 'approve', ...input, delegationId } as const;
    return DecisionResponse.from(await this.reviews.review(caller, id, review));
  }

  @Post(':id/reject')
  @RequiresScope('review')
  @OwnAgentIn('approverId')
  @AdmittedBy(BoundReviewers)
  @ApiRoute(
    'Reject a decision',
    'Without `approverId` the holder of the key rejects, or the agent that it is bound to. `reason` is an alias of `comment`.',
  )
  @ApiRecordId(DECISION, { sample: 4 })
  @ApiBody({ type: RejectDecisionRequest, required: false })
  @Answers({ type: DecisionResponse, description: 'The decision; a single rejection rejects it.' })
  @ApiErrors('POLICY_DENIED')
  async reject(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { approverId, comment, reason, instead, delegationId }: RejectDecisionRequest,
  ): Promise<DecisionResponse> {
    const input = { approver: approverId ?? null, comment: comment ?? reason ?? null, delegationId };
    const review = { verdict: 'reject', ...input, instead: instead?.parameters } as const;
    return DecisionResponse.from(await this.reviews.review(caller, id, review));
  }

  @Post(':id/cancel')
  @RequiresScope('propose', 'review', 'policies', 'agents')
  @AdmittedBy(ChangeProposers)
  @ApiRoute(
    'Cancel a proposed decision',
    'May be done by its proposer, or with a key that is not bound to an agent; a decision on a change only by the caller who proposed it, or with the scope `admin`. ' +
      'An execution that waits for it is cancelled, too.',
  )
  @ApiRecordId(DECISION, { sample: 3 })
  @ApiBody({ type: CancelDecisionRequest, required: false })
  @Answers({ type: DecisionResponse, description: 'The cancelled decision.' })
  async cancel(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: CancelDecisionRequest,
  ): Promise<DecisionResponse> {
    return DecisionResponse.from(await this.decisions.cancel(caller, id, reason ?? null));
  }
}
