import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { ClientSignal } from '../../http/responses/response-end';
import { Caller } from '../../http/input/caller.decorator';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalityConditions, ListQuery } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { Answers, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import { AnyScope, ApiErrors, NeedsSecondPerson, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { RecordReader } from '../../ledger/reading/record-reader';
import { PasskeyResponse, RegisterPasskeyRequest, RemovePasskeyRequest } from './dto/passkey.dto';
import { type Passkey, PASSKEY } from './passkey.entity';
import { PasskeysService } from './passkeys.service';

const ApiPerson = (): MethodDecorator =>
  ApiParam({ name: 'id', description: "The person's id, or name percent-encoded.", example: 'change-reviewer' });

@ApiTags('Passkeys')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('agents/:id/passkeys')
export class PasskeysController {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly records: RecordReader,
    private readonly lists: Lists,
  ) {}

  @Post('options')
  @RequiresScope('review')
  @SetRouteMetadata({ ignoresIdempotencyKey: true })
  @ApiRoute(
    'Start registering a passkey',
    'Returns the options with which a browser creates the passkey. They are valid for this person, for five ' +
      'minutes. Requires a key or token that is bound to the person, and the setting `PUBLIC_URL` with a host name.',
  )
  @ApiPerson()
  @Answers({
    schema: { type: 'object', additionalProperties: true },
    description: 'PublicKeyCredentialCreationOptionsJSON of WebAuthn.',
  })
  @ApiErrors('CONFLICT')
  options(@Caller() caller: Caller, @Param('id') id: string): Promise<PublicKeyCredentialCreationOptionsJSON> {
    return this.passkeys.options(caller, id);
  }

  @Post()
  @RequiresScope('review')
  @ApiRoute(
    'Register a passkey',
    'Requires a key or token that is bound to the person, and a credential that a browser has made. If the person ' +
      'already has passkeys for the host of `PUBLIC_URL`, one of them has to sign. A person can register at most 10 for ' +
      'a host, each of them once.',
  )
  @ApiPerson()
  @ApiCreatedResponse({ type: PasskeyResponse, description: 'The passkey.' })
  async register(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: RegisterPasskeyRequest,
  ): Promise<PasskeyResponse> {
    return PasskeyResponse.from(await this.passkeys.register(caller, id, body));
  }

  @Get()
  @AnyScope()
  @ApiRoute('List the passkeys of a person', 'For callers with `read`, and for the person.')
  @ApiPerson()
  @ApiList(PasskeyResponse, 'Passkeys in order of creation.')
  @ApiErrors('CONFLICT')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() query: ListQuery,
  ): Promise<ListAnswer<PasskeyResponse>> {
    const agentId = await this.passkeys.listed(caller, id);
    const list = await this.lists.open(`passkeys of ${agentId}`, query, { limit: 50, order: 'asc' }, signal);
    const request = list.request(equalityConditions({ agentId }));
    const page = await this.records.shownPage(PASSKEY, shownMembers(PasskeyResponse), request);
    return list.answerShown(page, PasskeyResponse.from);
  }

  @Get(':passkeyId')
  @AnyScope()
  @ApiRoute('Read a passkey', 'For callers with `read`, and for the person. Requires a registered passkey.')
  @ApiPerson()
  @ApiRecordId(PASSKEY, { parameter: 'passkeyId' })
  @Answers({ type: PasskeyResponse, description: 'The passkey.' })
  @ApiErrors('CONFLICT')
  async get(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Param('passkeyId') passkeyId: string,
  ): Promise<PasskeyResponse> {
    return PasskeyResponse.from(await this.passkeys.get(caller, id, passkeyId));
  }

  @Post(':passkeyId/remove')
  @RequiresScope('review')
  @NeedsSecondPerson({
    summary: ({ params }, { name }: Passkey) => `Remove the passkey "${name}" of ${params['id']}`,
    isHeld: (_input, caller, { agentId }: Passkey) => caller.agentId !== agentId,
  })
  @ApiRoute(
    'Remove a passkey',
    'For the person, with a signature, and `admin`. What it has signed remains valid. Requires a registered passkey.',
  )
  @ApiPerson()
  @ApiRecordId(PASSKEY, { parameter: 'passkeyId' })
  @ApiBody({ type: RemovePasskeyRequest, required: false })
  @Answers({ type: PasskeyResponse, description: 'The passkey as it was.' })
  async remove(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Param('passkeyId') passkeyId: string,
    @Body() { signature }: RemovePasskeyRequest,
  ): Promise<PasskeyResponse> {
    return PasskeyResponse.from(await this.passkeys.remove(caller, id, passkeyId, signature ?? null));
  }
}
