import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import { ApiErrors, NeedsSecondPerson, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { AsOfQuery } from '../../http/reading/as-of.query';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalityConditions, PageQuery } from '../../http/lists/list.query';
import { type ListResponse, Lists } from '../../http/lists/lists';
import { RecordReader } from '../../ledger/reading/record-reader';
import { CreatePolicyRequest, PolicyListQuery, PolicyResponse } from './dto/policy.dto';
import { UsageResponse } from './limit-usage';
import { PoliciesService } from './policies.service';
import { type Policy, POLICY } from './policy.entity';

@ApiTags('Policies')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('policies')
export class PoliciesController {
  constructor(
    private readonly policies: PoliciesService,
    private readonly records: RecordReader,
    private readonly lists: Lists,
  ) {}

  @Get()
  @RequiresScope('read')
  @ApiRoute('List policies', 'Returns all versions of policies.')
  @ApiList(PolicyResponse, 'Policies in order of creation.')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Query() query: PolicyListQuery,
  ): Promise<ListResponse<PolicyResponse>> {
    const list = await this.lists.open('policies', query, { limit: 50, order: 'asc' }, signal);
    const page = await this.records.page(POLICY, list.request(equalityConditions(list.filters)), caller);
    return list.answer(page, PolicyResponse.from);
  }

  @Post()
  @RequiresScope('policies')
  @ApiRoute(
    'Create a policy, or a new version of one',
    'The created version is in force at once and supersedes the version that was in force. A policy is never edited. ' +
      'If the version in force has the same content, it is returned and nothing is written.',
  )
  @NeedsSecondPerson({
    changesPolicies: true,
    summary: (_input, { name, version }: Policy) => `Create the policy "${name}" (version ${version})`,
  })
  @ApiExamples({
    'a policy that allows': {},
    'a policy that denies': {
      name: 'closed-accounts',
      description: 'Nobody touches the invoices of closed years.',
      effect: 'deny',
      subjects: ['*'],
      actions: ['*'],
      resources: ['invoices/closed/*'],
    },
    'a policy that requires an approval': {
      name: 'write-offs-need-approval',
      description: 'A reviewer approves each write-off.',
      effect: 'require_approval',
      actions: ['write-off'],
      approval: {
        riskLevel: 'medium',
        approvers: [{ subjects: ['role:reviewer'], approvals: 1 }],
        grant: { for: 'PT1H', uses: 10 },
      },
    },
  })
  @ApiCreatedResponse({ type: PolicyResponse, description: 'The created policy.' })
  @ApiOkResponse({ type: PolicyResponse, description: 'This version is in force already; nothing was written.' })
  async create(
    @Caller() caller: Caller,
    @Body() body: CreatePolicyRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PolicyResponse> {
    const policy = await this.policies.create(caller, body);
    if (policy.wasInForce) response.status(200);
    return PolicyResponse.from(policy);
  }

  @Get(':id')
  @RequiresScope('read')
  @ApiRoute('Read a policy', 'Returns one version, its status and those of its parts that match nothing.')
  @ApiRecordId(POLICY)
  @Answers({ type: PolicyResponse, description: 'The policy.' })
  async get(@Caller() caller: Caller, @Param('id') id: string, @Query() { asOf }: AsOfQuery): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.get(caller, id, asOf));
  }

  @Get(':id/usage')
  @RequiresScope('read')
  @SetRouteMetadata({ isList: true })
  @ApiRoute(
    'Read how much of the limits of a policy is used',
    "Returns the current windows of the policy's limits that have any usage, fullest first. Usage is counted by policy " +
      'name, for all versions together.',
  )
  @ApiRecordId(POLICY)
  @Answers({ type: UsageResponse, description: 'The usage of each limit; amounts are strings.' })
  async usage(@Caller() caller: Caller, @Param('id') id: string, @Query() query: PageQuery): Promise<UsageResponse> {
    return this.policies.usage(caller, id, query);
  }

  @Post(':id/activate')
  @RequiresScope('policies')
  @NeedsSecondPerson({
    changesPolicies: true,
    summary: (_input, { name, version }: Policy) => `Put the policy "${name}" (version ${version}) in force`,
  })
  @ApiRoute(
    'Put a version of a policy in force',
    'The version that was in force is superseded. If the version is already in force, nothing changes.',
  )
  @ApiRecordId(POLICY)
  @Answers({ type: PolicyResponse, description: 'The policy, in force.' })
  @ApiErrors('CONFLICT')
  async activate(@Caller() caller: Caller, @Param('id') id: string): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.activate(caller, id));
  }

  @Post(':id/deactivate')
  @RequiresScope('policies')
  @NeedsSecondPerson({
    changesPolicies: true,
    summary: (_input, { name, version }: Policy) => `Take the policy "${name}" (version ${version}) out of force`,
  })
  @ApiRoute(
    'Take a policy out of force',
    'Takes the version in force out of force. If the version was already deactivated, nothing changes. A superseded ' +
      'version cannot be deactivated.',
  )
  @ApiRecordId(POLICY, { sample: 2 })
  @Answers({ type: PolicyResponse, description: 'The policy, out of force.' })
  @ApiErrors('CONFLICT')
  async deactivate(@Caller() caller: Caller, @Param('id') id: string): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.deactivate(caller, id));
  }
}
