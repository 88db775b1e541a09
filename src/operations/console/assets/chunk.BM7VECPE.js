import{l as e}from"./chunk.67UMQHJ2.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
