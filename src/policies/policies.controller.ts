import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiExamples } from '../docs/api-examples.decorator';
import { ApiRecordId } from '../docs/api-record-id.decorator';
import { Caller } from '../http/caller.decorator';
import { ApiErrors } from '../http/errors/api-errors.decorator';
import { ApiList } from '../http/lists/api-list.decorator';
import { conditionsOf } from '../http/lists/conditions';
import { Lists } from '../http/lists/lists';
import type { ListAnswer } from '../http/lists/open-list';
import { CreatePolicyRequest } from './dto/create-policy.request';
import { PolicyListQuery } from './dto/policy-list.query';
import { PolicyResponse } from './dto/policy.response';
import { PoliciesService } from './policies.service';
import { POLICY } from './policy.kind';

@ApiTags('Policies')
@Controller('policies')
export class PoliciesController {
  constructor(
    private readonly policies: PoliciesService,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List policies', description: 'All versions.' })
  @ApiList(PolicyResponse, 'Policies in order of creation.')
  async list(@Query() query: PolicyListQuery): Promise<ListAnswer<PolicyResponse>> {
    const list = this.lists.open('policies', query, { limit: 50, order: 'asc' });
    const conditions = conditionsOf(list.filters, {
      name: ['name', 'equals'],
      status: ['status', 'equals'],
      effect: ['effect', 'equals'],
    });
    return list.answer(await this.policies.list(list.request(conditions)), PolicyResponse.from);
  }

  @Post()
  @ApiOperation({
    summary: 'Create a policy, or a new version of one',
    description: 'It is in force at once; the version that was in force is superseded. A policy is never edited.',
  })
  @ApiExamples({
    'one that allows': {},
    'one that denies': {
      name: 'closed-years',
      description: 'Nobody touches the invoices of closed years.',
      effect: 'deny',
      subjects: ['*'],
      actions: ['*'],
      resources: ['invoices/closed/*'],
    },
  })
  @ApiCreatedResponse({ type: PolicyResponse, description: 'The created policy.' })
  @ApiErrors('CONFLICT')
  async create(@Caller() caller: Caller, @Body() body: CreatePolicyRequest): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.create(caller, body));
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a policy' })
  @ApiRecordId(POLICY)
  @ApiOkResponse({ type: PolicyResponse, description: 'The policy.' })
  @ApiErrors('NOT_FOUND')
  async get(@Param('id') id: string): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.get(id));
  }

  @Post(':id/activate')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Put a version of a policy in force',
    description: 'The version that was in force is superseded. Repeating it changes nothing.',
  })
  @ApiRecordId(POLICY)
  @ApiOkResponse({ type: PolicyResponse, description: 'The policy, in force.' })
  @ApiErrors('NOT_FOUND', 'CONFLICT')
  async activate(@Caller() caller: Caller, @Param('id') id: string): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.activate(caller, id));
  }

  @Post(':id/deactivate')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Take a policy out of force',
    description: 'Only the version in force can be. Repeating it changes nothing.',
  })
  @ApiRecordId(POLICY, { sample: 2 })
  @ApiOkResponse({ type: PolicyResponse, description: 'The policy, out of force.' })
  @ApiErrors('NOT_FOUND', 'CONFLICT')
  async deactivate(@Caller() caller: Caller, @Param('id') id: string): Promise<PolicyResponse> {
    return PolicyResponse.from(await this.policies.deactivate(caller, id));
  }
}
