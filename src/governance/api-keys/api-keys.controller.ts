import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { Answers, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import { requireFound } from '../../core/errors/domain-error';
import { withAgentId } from '../agents/find-agent';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import { AnyScope, NeedsSecondPerson, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalityConditions } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type ApiKey, API_KEY } from './api-key.entity';
import { ApiKeysService } from './api-keys.service';
import {
  ApiKeyListQuery,
  ApiKeyResponse,
  CreateApiKeyRequest,
  IssuedApiKeyResponse,
  MeResponse,
  RevokeApiKeyRequest,
} from './dto/api-key.dto';

@ApiTags('API keys')
@RequiresScope('admin')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('api-keys')
export class ApiKeysController {
  constructor(
    private readonly keys: ApiKeysService,
    private readonly lists: Lists,
    private readonly records: RecordReader,
  ) {}

  @Get()
  @ApiRoute('List API keys', 'Includes keys that were revoked or have expired; the key in `API_KEY` is not listed.')
  @ApiList(ApiKeyResponse, 'Keys in order of creation.')
  async list(
    @ClientSignal() signal: AbortSignal,
    @Query() query: ApiKeyListQuery,
  ): Promise<ListAnswer<ApiKeyResponse>> {
    const list = await this.lists.open('api-keys', query, { limit: 50, order: 'asc' }, signal);
    const filters = await withAgentId(this.records, list.filters, 'agentId');
    const request = list.request(equalityConditions(filters));
    const page = await this.records.shownPage(API_KEY, shownMembers(ApiKeyResponse), request);
    return list.answerShown(page, ApiKeyResponse.from);
  }

  @Post()
  @SetRouteMetadata({ answersSecret: true })
  @NeedsSecondPerson({
    summary: (_input, { name, scopes, agentId }: ApiKey) =>
      `Issue the key "${name}" with the scopes ${scopes.join(', ')}, ${agentId === null ? 'bound to nobody' : `for ${agentId}`}`,
  })
  @ApiRoute(
    'Issue an API key',
    'The secret is returned only in this answer. Give every agent, every person and every program a key of its own.',
  )
  @ApiExamples({ 'of an agent': { team: undefined } })
  @ApiCreatedResponse({ type: IssuedApiKeyResponse, description: 'The key and its secret.' })
  async issue(@Caller() caller: Caller, @Body() body: CreateApiKeyRequest): Promise<IssuedApiKeyResponse> {
    return IssuedApiKeyResponse.withSecret(await this.keys.issue(caller, body));
  }

  @Get(':id')
  @ApiRoute('Read an API key')
  @ApiRecordId(API_KEY)
  @Answers({ type: ApiKeyResponse, description: 'The key, without its secret.' })
  async get(@Param('id') id: string): Promise<ApiKeyResponse> {
    return ApiKeyResponse.from(requireFound(await this.records.find(API_KEY, id), 'API key'));
  }

  @Post(':id/revoke')
  @ApiRoute(
    'Revoke an API key',
    'From then on it is refused. Repeating this changes nothing, and neither does revoking an expired key.',
  )
  @ApiRecordId(API_KEY)
  @ApiBody({ type: RevokeApiKeyRequest, required: false })
  @Answers({ type: ApiKeyResponse, description: 'The key, which is revoked or has expired.' })
  async revoke(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: RevokeApiKeyRequest,
  ): Promise<ApiKeyResponse> {
    return ApiKeyResponse.from(await this.keys.revoke(caller, id, reason ?? null));
  }
}

@ApiTags('API keys')
@AnyScope()
@SetRouteMetadata({ admittedLoneScopes: ['report'], takesGatewayTokens: true })
@Controller('me')
export class MeController {
  @Get()
  @ApiRoute('Show who you are', 'What your key or token allows you to do, and on whose behalf.')
  @Answers({ type: MeResponse, description: 'The caller.' })
  get(@Caller() caller: Caller): MeResponse {
    return MeResponse.from(caller);
  }
}
