import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import { Answers, AnswersNothing, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import { ApiExamples } from '../../http/openapi/documentation.decorators';
import { requireFound } from '../../core/errors/domain-error';
import {
  AnyScope,
  ApiErrors,
  NeedsSecondPerson,
  RequiresScope,
  Revisioned,
  SetRouteMetadata,
} from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { IfMatch, type Precondition } from '../../http/request/precondition';
import { AsOfQuery } from '../../http/reading/as-of.query';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { conditionsOf } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { RecordHistory } from '../../ledger/record-history';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type Agent, AGENT } from './agent.entity';
import { AgentsService } from './agents.service';
import { agentsAsOf, findAgent } from './find-agent';
import { AgentEmails } from './agent-emails';
import {
  AgentListQuery,
  AgentResponse,
  AgentWithEmailResponse,
  ChangeStatusRequest,
  CreateAgentRequest,
  SetEmailRequest,
  UpdateAgentRequest,
} from './dto/agent.dto';

const ApiIdOrName = (example = 'reminder-bot'): MethodDecorator =>
  ApiParam({ name: 'id', description: "The agent's id, or its name percent-encoded.", example });

@ApiTags('Agents')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('agents')
export class AgentsController {
  constructor(
    private readonly agents: AgentsService,
    private readonly emails: AgentEmails,
    private readonly lists: Lists,
    private readonly records: RecordReader,
    private readonly history: RecordHistory,
  ) {}

  @Get()
  @RequiresScope('read')
  @ApiRoute('List agents', 'Oldest first; filtered by capability, role, status, kind or team.')
  @ApiList(AgentResponse, 'Agents in order of creation.')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Query() query: AgentListQuery,
  ): Promise<ListAnswer<AgentResponse>> {
    const list = await this.lists.open('agents', query, { limit: 50, order: 'asc' }, signal);
    const conditions = conditionsOf(list.filters, {
      capability: ['capabilities', 'contains'],
      role: ['roles', 'contains'],
      status: ['status', 'equals'],
      kind: ['kind', 'equals'],
      team: ['team', 'equals'],
    });
    const page = await this.records.shownPage(AGENT, shownMembers(AgentResponse), list.request(conditions), caller);
    return list.answerShown(page, AgentResponse.from);
  }

  @Post()
  @RequiresScope('agents')
  @Revisioned()
  @NeedsSecondPerson({ summary: (_input, { kind, name }: Agent) => `Create the agent "${name}" of kind ${kind}` })
  @ApiRoute(
    'Create an agent',
    'It can do what its `capabilities` list, where the policies in force allow it. Its name is unique and never changes.',
  )
  @ApiExamples({
    'a proposer': {},
    'an approver': {
      name: 'change-reviewer',
      kind: 'human',
      description: 'Reviews what other agents propose.',
      capabilities: [],
      roles: ['reviewer'],
      team: undefined,
    },
  })
  @ApiCreatedResponse({ type: AgentResponse, description: 'The created agent.' })
  async create(@Caller() caller: Caller, @Body() body: CreateAgentRequest): Promise<AgentResponse> {
    return AgentResponse.from(await this.agents.create(caller, body));
  }

  @Get(':id')
  @RequiresScope('read')
  @Revisioned()
  @ApiRoute('Read an agent', 'The agent with this id or name.')
  @ApiIdOrName()
  @Answers({ type: AgentWithEmailResponse, description: 'The agent.' })
  async get(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Query() { asOf }: AsOfQuery,
  ): Promise<AgentWithEmailResponse> {
    const agent = requireFound(await findAgent(agentsAsOf(this.history, asOf, caller), id), 'agent');
    // States have no address, so a past state is shown with today's.
    const email = await this.emails.visibleEmail(caller, agent);
    return { ...AgentResponse.from(agent), ...(email !== undefined && { email }) };
  }

  @Put(':id/email')
  @AnyScope()
  @NeedsSecondPerson({ summary: ({ params }) => `Set the mail address of ${params['id']}`, canWait: true })
  @ApiRoute(
    'Set the address of a person',
    'For the person, or a caller with the scope `admin`. Mails about decisions that wait for the person go there. ' +
      'No sealed state, entry or export contains it.',
  )
  @ApiIdOrName('change-reviewer')
  @AnswersNothing('The address is set.')
  setEmail(@Caller() caller: Caller, @Param('id') id: string, @Body() { email }: SetEmailRequest): Promise<void> {
    return this.emails.set(caller, id, email);
  }

  @Delete(':id/email')
  @AnyScope()
  @NeedsSecondPerson({ summary: ({ params }) => `Forget the mail address of ${params['id']}`, canWait: true })
  @ApiRoute('Forget the address of a person', 'For the person, or a caller with the scope `admin`.')
  @ApiIdOrName('change-reviewer')
  @AnswersNothing('The address is removed.')
  removeEmail(@Caller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.emails.set(caller, id, null);
  }

  @Patch(':id')
  @RequiresScope('agents')
  @Revisioned()
  @NeedsSecondPerson({
    summary: ({ body }, { name }: Agent) => `Change ${Object.keys(body).sort().join(', ')} of the agent "${name}"`,
    isHeld: ({ body }) => Object.keys(body).some((member) => member !== 'description'),
  })
  @ApiRoute('Update an agent', 'Absent members stay as they are; a list is replaced as a whole.')
  @ApiIdOrName()
  @Answers({ type: AgentResponse, description: 'The updated agent.' })
  @ApiErrors('CONFLICT')
  async update(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @IfMatch() precondition: Precondition,
    @Body() body: UpdateAgentRequest,
  ): Promise<AgentResponse> {
    return AgentResponse.from(await this.agents.update(caller, id, precondition, body));
  }

  @Post(':id/suspend')
  @RequiresScope('agents')
  @Revisioned()
  @ApiRoute(
    'Suspend an agent',
    'From then on it cannot execute, propose or approve anything. Repeating it changes nothing.',
  )
  @ApiIdOrName()
  @ApiBody({ type: ChangeStatusRequest, required: false })
  @Answers({ type: AgentResponse, description: 'The suspended agent.' })
  async suspend(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: ChangeStatusRequest,
  ): Promise<AgentResponse> {
    return AgentResponse.from(await this.agents.setStatus(caller, id, 'suspended', reason ?? null));
  }

  @Post(':id/resume')
  @RequiresScope('agents')
  @Revisioned()
  @NeedsSecondPerson({ summary: (_input, { name }: Agent) => `Resume the agent "${name}"` })
  @ApiRoute('Resume a suspended agent', 'Repeating it changes nothing.')
  @ApiIdOrName()
  @ApiBody({ type: ChangeStatusRequest, required: false })
  @Answers({ type: AgentResponse, description: 'The active agent.' })
  async resume(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: ChangeStatusRequest,
  ): Promise<AgentResponse> {
    return AgentResponse.from(await this.agents.setStatus(caller, id, 'active', reason ?? null));
  }
}
