import { Controller, Get, Header } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FOR_EVERYBODY } from '../../http/responses/common-headers';
import { Answers, ApiRoute, ApiMember } from '../../http/openapi/response-members';
import { ApiErrors, Public, routeNotFound } from '../../http/request/routes';
import { Permits } from './permits';

const ONE = 'Always this one.';
const EXAMPLE = 'https://governance.example.com';

/** Members as in OpenID Connect Discovery 1.0, without endpoints, because there is no login. */
class PermitIssuerResponse {
  @ApiMember('`PUBLIC_URL`: the `iss` of each permit.', { example: EXAMPLE })
  readonly issuer!: string;

  @ApiMember('Where the keys are.', { example: `${EXAMPLE}/.well-known/jwks.json` })
  readonly jwks_uri!: string;

  @ApiMember(ONE, { type: [String], example: ['id_token'] })
  readonly response_types_supported!: readonly string[];

  @ApiMember(ONE, { type: [String], example: ['public'] })
  readonly subject_types_supported!: readonly string[];

  @ApiMember(ONE, { type: [String], example: ['ES256'] })
  readonly id_token_signing_alg_values_supported!: readonly string[];

  static from(issuer: string): PermitIssuerResponse {
    return {
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    };
  }
}

class PermitKeyResponse {
  @ApiMember(ONE, { example: 'EC' })
  readonly kty!: string;

  @ApiMember(ONE, { example: 'P-256' })
  readonly crv!: string;

  @ApiMember('Base64url.', { example: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY' })
  readonly x!: string;

  @ApiMember('Base64url.', { example: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU' })
  readonly y!: string;

  @ApiMember('Its thumbprint of RFC 7638.', { example: 'VDrsBA1Mxg2vLDBQ38ch4ZXGDcKmtdiz0PU5Ja2eQi8' })
  readonly kid!: string;

  @ApiMember(ONE, { example: 'sig' })
  readonly use!: string;

  @ApiMember(ONE, { example: 'ES256' })
  readonly alg!: string;
}

class PermitKeysResponse {
  @ApiMember('The key that signs, then those of `PERMIT_KEY_PREVIOUS`.', { type: [PermitKeyResponse] })
  readonly keys!: readonly PermitKeyResponse[];
}

/** The part of OpenID Connect Discovery 1.0 for a service that issues tokens. */
@ApiTags('Permits')
@Public()
@Controller('.well-known')
export class PermitsController {
  constructor(private readonly permits: Permits) {}

  @Get('openid-configuration')
  @Header('Cache-Control', FOR_EVERYBODY)
  @ApiRoute('Discover who issues permits', 'Requires the settings `PERMIT_AUDIENCES` and `PUBLIC_URL`.')
  @Answers({ type: PermitIssuerResponse, description: 'What vaults and clouds read about an issuer.' })
  @ApiErrors('NOT_FOUND')
  discovery(): PermitIssuerResponse {
    const { issuer } = this.permits;
    if (issuer === null) throw routeNotFound();
    return PermitIssuerResponse.from(issuer);
  }

  @Get('jwks.json')
  @Header('Cache-Control', FOR_EVERYBODY)
  @ApiRoute('List the keys of permits', 'Requires the settings `PERMIT_AUDIENCES` and `PUBLIC_URL`.')
  @Answers({ type: PermitKeysResponse, description: 'A JSON Web Key set.' })
  @ApiErrors('NOT_FOUND')
  keys(): PermitKeysResponse {
    if (this.permits.issuer === null) throw routeNotFound();
    return { keys: [...this.permits.keys] };
  }
}
