import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { FOR_EVERYBODY } from '../../http/answers/common-headers';
import { ApiRoute } from '../../http/openapi/answer-members';
import { ApiErrors, Public, routeNotFound } from '../../http/request/routes';
import { PermitIssuerResponse, PermitKeysResponse } from './permit.dto';
import { Permits } from './permits';

/** What OpenID Connect Discovery 1.0 has of a service that issues tokens. */
@ApiTags('Permits')
@Public()
@Controller('.well-known')
export class PermitsController {
  constructor(private readonly permits: Permits) {}

  @Get('openid-configuration')
  @Header('Cache-Control', FOR_EVERYBODY)
  @ApiRoute('Discover who issues permits', 'Requires `PERMIT_AUDIENCES` and `PUBLIC_URL`.')
  @ApiOkResponse({ type: PermitIssuerResponse, description: 'What vaults and clouds read of an issuer.' })
  @ApiErrors('NOT_FOUND')
  discovery(): PermitIssuerResponse {
    const { issuer } = this.permits;
    if (issuer === null) throw routeNotFound();
    return PermitIssuerResponse.of(issuer);
  }

  @Get('jwks.json')
  @Header('Cache-Control', FOR_EVERYBODY)
  @ApiRoute('List the keys of permits', 'Requires `PERMIT_AUDIENCES` and `PUBLIC_URL`.')
  @ApiOkResponse({ type: PermitKeysResponse, description: 'A JSON Web Key set.' })
  @ApiErrors('NOT_FOUND')
  keys(): PermitKeysResponse {
    if (this.permits.issuer === null) throw routeNotFound();
    return { keys: [...this.permits.keys] };
  }
}
