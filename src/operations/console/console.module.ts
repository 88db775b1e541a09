import { Module } from '@nestjs/common';
import { OidcIssuer } from './oidc-issuer';
import { ConsoleController } from './console.controller';

/** The console for people, outside the versioned prefix. */
@Module({ controllers: [ConsoleController], providers: [OidcIssuer] })
export class ConsoleModule {}
