import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApiDocument, OpenApiController } from './openapi.controller';

/** The API's own documentation, outside the versioned prefix. */
@Module({ imports: [DiscoveryModule], controllers: [OpenApiController], providers: [ApiDocument] })
export class OpenApiModule {}
