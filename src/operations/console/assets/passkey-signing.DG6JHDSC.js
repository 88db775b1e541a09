import{a,b,c,d}from"./chunk.P23WQ5XU.js";import"./chunk.7A7XXFVZ.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
