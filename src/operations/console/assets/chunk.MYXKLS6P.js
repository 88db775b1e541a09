import{l as e}from"./chunk.XQYD2PPK.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
